// SPDX-License-Identifier: BSD-3-Clause
/// The rails of one simulated process.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rail/sim/lane.h"
#include "rail/sim/network.h"
#include "rail/sim/port.h"

namespace nezha {

class SimTransport final : public Transport, public SimLaneOwner {
 public:
  /// `ports`, `network`, `clock` (the process's) and `admission` outlive the transport, and the ports all events of the
  /// network. `on_work` is called when progress() has something to do. `loopback`: a port of the node's, null = it has none.
  SimTransport(SimNetwork& network, const Clock& clock, ProcessId self, std::vector<SimPort*> ports,
               Admission& admission, std::function<void()> on_work, SimPort* loopback = nullptr);
  ~SimTransport() override;

  std::span<const RailAddress> rails() const override { return rails_; }
  std::string where(const RailAddress& rail) const override;
  Loopback loopback() const override;
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) override;
  bool progress(Watch watch) override;
  bool admit() override;
  void arm_payload_wakeup() override { payload_wakes_ = true; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void forget(Lane& lane) override;

  // SimLaneOwner
  void wake() override { on_work_(); }
  void duplicate(const SimLane& lane, std::vector<std::byte> frame) override;

  // ---- faults
  /// Takes a port down or up again. Ends of lanes through it find out one by one, unless it is up again before; the
  /// process hears when it is up.
  void set_up(std::size_t port, bool up);
  /// This end of a lane breaks. What its kernel has still goes out (`linger`, up to `slower` later) or is lost; then the
  /// other end finds out.
  void break_lane(std::size_t index, bool linger, Nanoseconds slower);
  std::size_t lanes() const { return lanes_.size(); }
  /// Where that lane leads.
  bool to(std::size_t index, ProcessId peer) const { return lanes_[index]->spec().peer == peer; }
  bool on(std::size_t index, std::size_t port) const { return &lanes_[index]->port() == ports_[port]; }
  /// Bytes of ours under way on that lane.
  std::size_t fill(std::size_t index) const { return lanes_[index]->fill(); }
  std::size_t lanes_alive() const;
  /// The network forgets all connections of a port: whoever writes hears nothing any more.
  void cut_lanes(std::size_t port);
  /// What the network has forgotten is found out about.
  void reset_cut_lanes();

 private:
  SimPort& port_of(std::size_t rail) const { return rail == kLoopbackRail ? *loopback_ : *ports_[rail]; }
  /// The address is of one of its rails.
  bool has(const RailAddress& rail) const;
  struct Attempt;
  using Shared = std::shared_ptr<Attempt>;

  void notice_later(const SimPort& down);
  void back_later(std::size_t index);
  void break_serial(std::uint64_t serial, const SimPort& down, std::uint64_t outage);
  static void expire_after(SimNetwork& network, const Shared& attempt, Nanoseconds time);
  /// Calls `what` in progress() of that process if the way is open and the process still there when it arrives, which is after
  /// what is on that way already.
  static void tell(SimNetwork& network, const Shared& attempt, ProcessId to,
                   void (SimTransport::*what)(const Shared&));
  static void arrive(SimNetwork& network, const Shared& attempt, ProcessId to, void (SimTransport::*what)(const Shared&));
  bool admits(const Attempt& attempt) const;
  void connect_arrived(const Shared& attempt);
  void challenged(const Shared& attempt);
  void proved(const Shared& attempt);
  void answered(const Shared& attempt);
  void refused(const Shared& attempt);
  void too_late(const Shared& attempt);
  void give_up(const Shared& attempt, Code code, const char* why);
  LaneEvents& open_lane(const LaneSpec& spec, SimPort& port, std::shared_ptr<SimStream> out,
                        std::shared_ptr<SimStream> in);

  SimNetwork& network_;
  const Clock& clock_;
  const ProcessId self_;
  const std::vector<SimPort*> ports_;
  SimPort* const loopback_;
  Admission& admission_;
  const std::function<void()> on_work_;
  std::vector<RailAddress> rails_;
  std::vector<std::unique_ptr<SimLane>> lanes_;
  std::uint64_t serial_ = 0;
  std::uint64_t attempts_ = 0;
  bool payload_wakes_ = false;
  std::deque<std::function<void()>> inbox_;  ///< what the network has for progress()
};

}  // namespace nezha
