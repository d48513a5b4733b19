// SPDX-License-Identifier: BSD-3-Clause
/// The TCP rails of one process and their lanes.
///
/// Epoll descriptors: those of the two acceptors (listeners, handshakes; of the rails and of the loopback) are nested in the two
/// that progress() looks at, Watch::all (the acceptors, lanes with payload, the workers' tasks) and Watch::rare (the acceptors, lanes
/// whose other side closed). A lane that its trunk forgets lives on until the end of the next progress(), so that a callback may forget the lane it was called for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rail/rail.h"
#include "rail/tcp/acceptor.h"
#include "rail/tcp/link_task.h"
#include "rail/tcp/link_watch.h"
#include "rail/tcp/options.h"
#include "rail/tcp/tcp_lane.h"
#include "util/log.h"

namespace nezha {

class TcpTransport final : public Transport, private Acceptor::Host {
 public:
  TcpTransport(const TcpOptions& options, const Clock& clock, Log log, Admission& admission, ProcessId self);
  ~TcpTransport() override;

  /// `links`: an open watch whose table `interfaces` were chosen from; null: it makes its own.
  Status open(std::vector<Interface> interfaces, std::unique_ptr<LinkWatch> links);

  std::span<const RailAddress> rails() const override { return acceptor_.rails(); }
  std::string where(const RailAddress& rail) const override;
  Loopback loopback() const override { return loopback_; }
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) override;
  bool progress(Watch watch) override;
  bool admit() override;
  void arm_payload_wakeup() override;
  int wait_fd(Watch watch) const override { return (watch == Watch::all ? context_.all : context_.rare).get(); }
  Nanoseconds next_deadline() const override;
  void bound_lanes(std::size_t bytes) override;
  bool may_announce(std::size_t rail) const override { return acceptor_.may_announce(rail); }
  void announce(std::size_t rail, std::span<const RailAddress* const> taken) override { acceptor_.announce(rail, taken); }
  void forget(Lane& lane) override;
  void employ(std::size_t rail, RailWorker& worker) override;
  void employ_service(RailWorker& service) override { service_ = &service; }

 private:
  Status let_in(Fd fd, const LaneSpec& spec, std::string text) override;
  bool report_broken();
  bool look_at_connections(bool linked, bool acceptor_ready, bool loopback_ready);
  void open_loopback();
  bool watch_acceptor(Acceptor& acceptor);

  // tcp_transport_links.cc
  void watch_links(std::unique_ptr<LinkWatch> links);
  void follow_links(bool ready);
  std::optional<Interface> new_rail(const SystemInterface& link) const;
  void consider(std::span<const std::uint32_t> touched);
  void look_at_rails();
  void ask_links();
  void take_answer();
  void take_list();
  void take_up(const SystemInterface& asked);
  void take_down(std::size_t rail, const std::string& why);

  bool watch_payload(int operation, std::uint32_t events);

  const TcpOptions options_;
  const Log log_;
  Admission& admission_;
  TcpLaneContext context_;
  Acceptor acceptor_;
  Acceptor loopback_acceptor_;
  Loopback loopback_;
  std::unique_ptr<LinkWatch> links_;  ///< null: none can change, or the kernel does not tell
  RailWorker* service_ = nullptr;
  LinkTask task_;
  bool asking_ = false;  ///< task_ is under way
  std::vector<SystemInterface> newcomers_;  ///< interfaces that may become rails, of which task_ has not been asked yet
  Nanoseconds ask_again_ = 0;  ///< about links, since it was not possible before; 0 = no need
  Nanoseconds look_again_ = 0;  ///< at the rails, since listeners could not be made anew; 0 = no need
  bool payload_wakes_ = false;
  std::vector<std::unique_ptr<TcpLane>> lanes_;
  std::vector<std::unique_ptr<TcpLane>> forgotten_;
};

}  // namespace nezha
