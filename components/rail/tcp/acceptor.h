// SPDX-License-Identifier: BSD-3-Clause
/// Where connections come in and go out until they are admitted: the listeners of all rails and the pending
/// handshakes, behind one epoll descriptor of their own. What is wrong or silent here costs a bounded number of
/// descriptors for a bounded time and touches no lane.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rail/rail.h"
#include "rail/tcp/announcement.h"
#include "rail/tcp/tcp_handshake.h"
#include "rail/tcp/interface.h"
#include "rail/tcp/options.h"
#include "rail/tcp/socket.h"
#include "rail/tcp/system_interfaces.h"
#include "rail/tcp/tcp_place.h"
#include "util/log.h"

namespace nezha {

class Acceptor {
 public:
  /// Who makes lanes of the connections that were admitted.
  class Host {
   public:
    /// A status that is not ok: the lane could not be made.
    virtual Status let_in(Fd fd, const LaneSpec& spec, std::string text) = 0;

   protected:
    ~Host() = default;
  };

  Acceptor(const TcpOptions& options, const Clock& clock, Log log, Admission& admission, ProcessId self, Host& host);

  /// Opens the listeners; an interface that refuses is logged and left out. Not ok when none is left.
  Status open(std::vector<Interface> interfaces);
  /// Opens one listener instead, on the node's loopback, for kLoopbackRail.
  Status open_loopback();
  std::span<const RailAddress> rails() const { return addresses_; }

  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline);
  /// What has become of a rail.
  struct Link {
    bool lost = false;   ///< its lanes are dead, for the reason `why`
    bool back = false;   ///< it can be used again, or differently
    bool again = false;  ///< its listeners could not be made anew: another look after a pause may do better
    std::string why;
  };
  /// Compares a rail with what there is now. When its interface was made anew or has another address (its first one again, or one
  /// of the same family that `fit` offers for it), its listeners are made anew too, if possible on the same port; while that does
  /// not succeed it stays lost.
  Link look_at(std::size_t rail, std::span<const SystemInterface> present, std::span<const Interface> fit);
  /// Some rail is on the interface of that index, which is called `name` now (empty: it is gone), or on one of that name.
  bool concerns(std::uint32_t index, const std::string& name) const;
  /// Some rail is, or was, this interface.
  bool knows(const Interface& interface) const;
  /// One rail more. It is logged and left out when it cannot be.
  void add_rail(Interface interface, Transport& transport);
  /// See Transport.
  bool may_announce(std::size_t rail) const;
  void announce(std::size_t rail, std::span<const RailAddress* const> taken);
  /// So many bytes of the kernel's memory for lanes to come; those within a node may have more.
  void bound_lanes(std::size_t bytes);
  /// Index of a rail among the process's.
  std::size_t number(std::size_t rail) const { return rails_[rail].number; }
  /// `ready`: fd() polled readable. True when anything happened.
  bool progress(bool ready) { return (ready || !failures_.empty() || next_deadline_ != 0) && go_on(ready); }
  int fd() const { return epoll_.get(); }
  Nanoseconds next_deadline() const;

 private:
  struct Rail {
    Interface interface;
    Interface first;               ///< as it was published first
    Listeners listeners;           ///< closed while they cannot be made anew
    std::uint8_t number = 0;       ///< among the process's rails
    std::uint32_t index = 0;       ///< the kernel's number of the device when the listeners were opened; 0 = not known
    std::string trouble;           ///< why it cannot be used; empty: link and address are there
    bool shares_subnet = false;    ///< with another rail of this process, over IPv4
    std::size_t pending = 0;       ///< handshakes of connections that came in
    Nanoseconds paused_until = 0;  ///< 0: accepting
    std::size_t announced = 0;     ///< times
    Nanoseconds announced_at = 0;  ///< the last time
  };
  struct Failure {
    LaneSpec spec;
    Status why;
  };

  // acceptor.cc: listeners
  RailAddress published(const Interface& interface, std::uint16_t port) const;
  Status open_rail(Interface& interface);
  void drop_last_rail();
  void note_subnets();
  void note_unbound(const Interface& interface);
  bool watch(int fd, std::uint32_t events, std::uint64_t tag, int operation);
  bool watch_listeners(std::size_t rail, std::uint32_t events, int operation);
  bool go_on(bool ready);
  void accept_from(std::uint64_t tag);
  bool accept_one(std::size_t rail, int listener);
  void fix_buffers(const Listeners& listeners) const;
  void pause(std::size_t rail, int error);
  void resume(Nanoseconds now);

  // acceptor_links.cc
  static const SystemInterface* device_of(const Rail& rail, std::span<const SystemInterface> present);
  void follow_name(std::size_t rail, const SystemInterface& device);
  void note_link(std::size_t rail, const std::string& trouble) const;
  void close_listeners(Listeners& listeners);
  Status reopen(std::size_t rail, const Interface& now);
  Status listen_again(std::size_t rail, const Interface& now);
  void go_on_announcing(Nanoseconds now);

  // acceptor_handshakes.cc
  static std::uint64_t tag_of(const TcpHandshake& handshake);
  void due_by(Nanoseconds time);
  std::string lane_text(std::size_t rail, const std::string& peer) const;
  Status connect_error(std::size_t rail, const std::string& peer, const Status& why) const;
  void add(std::unique_ptr<TcpHandshake> handshake);
  void make_room(Rail& rail);
  void spare_descriptors(int newest);
  void proceed(TcpHandshake& handshake);
  void finish(TcpHandshake& handshake, const Status& why);
  void note_refusal(const TcpHandshake& handshake, const Status& why);
  void expire(Nanoseconds now);
  void sweep();
  void report_failures();

  const TcpOptions& options_;
  const Clock& clock_;
  const Log log_;
  Admission& admission_;
  const ProcessId self_;
  std::size_t memory_;  ///< of the receive buffers of what connects or is accepted
  Host& host_;
  Fd epoll_;
  std::vector<Rail> rails_;
  std::vector<RailAddress> addresses_;
  std::vector<std::unique_ptr<TcpHandshake>> pending_;  ///< in order of arrival; closed ones are swept after the events
  std::vector<Failure> failures_;                    ///< of connect(), to be told by progress()
  std::vector<Announcement> announcements_;
  Nanoseconds next_deadline_ = 0;                    ///< of pending_, announcements_ and pauses; 0 = none
  std::uint64_t refusals_ = 0;
  std::uint64_t pauses_ = 0;
  bool said_unbound_ = false;
};

}  // namespace nezha
