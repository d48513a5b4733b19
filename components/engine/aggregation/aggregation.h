// SPDX-License-Identifier: BSD-3-Clause
/// An aggregation service: the stars of all teams that send something through this process, and who may join them. One
/// thread.
///
/// A star has a random id that only its team's members know. It begins an operation when all of them have described it,
/// alike; until then what they send waits in their windows. Its memory is then taken, or the star is given up: the members
/// go on over their rails. The contributions to a small vector come with the descriptions, and wait here.
///
/// An aggregator of a rack serves ranks while it has lanes to the upstream aggregator, to which it is a client. If the link is lost,
/// it gives up its stars; if the upstream aggregator is gone, or another process, it drops its clients too, who greet it anew and
/// learn which tree it is of. Whoever gives up a star tells all that have a part of it, up and down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/aggregation/greeting.h"
#include "engine/aggregation/guests.h"
#include "engine/aggregation/hosted_star.h"
#include "engine/core.h"
#include "engine/marked_set.h"

struct addrinfo;

namespace nezha {

class Aggregation final : public Guests {
 public:
  struct Limits {
    std::uint64_t memory = std::uint64_t{1} << 30;  ///< bytes of operations under way, in all; and of stars beside these
    std::uint64_t star = std::uint64_t{1} << 28;    ///< and of one team
    std::size_t clients = 4096;                     ///< processes that have lanes here
    std::size_t stars = 64;                         ///< that one of them is in
  };
  struct Counts {
    std::uint64_t operations = 0;  ///< that ended
    std::uint64_t bytes = 0;       ///< of their vectors' parts
    std::uint64_t given_up = 0;    ///< stars
    std::uint64_t refused = 0;     ///< greetings
  };

  /// Serves what comes to `core`, which outlives this. `in_rack`: the core's first aggregator is the upstream one.
  Aggregation(Core& core, const Secret& key, const Limits& limits, bool in_rack = false);
  ~Aggregation();

  /// From here on for greetings that begin and operations that begin: those who are here stay.
  void change(const Secret& key, const Limits& limits) {
    key_ = key;
    limits_ = limits;
  }
  /// Listens for greetings; port 0: any. At the first address of the host that this machine has; without a host at every address, of IPv6
  /// and of IPv4.
  Status listen(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }
  /// What clients are told: the core's, and the tree that it is of.
  Address address() const;
  /// Clients can be served.
  bool linked() const { return !in_rack_ || upstream_ != nullptr; }

  /// A client who has proved to have the key, by a greeting or, in tests, otherwise. False: there is no room for it. If a client with
  /// the same id has lanes, it comes in its place once that one is silent, or is refused.
  bool admit(const Address& client, const Secret& secret, Nanoseconds now);
  /// What is due: after each Core::progress(). Greetings are looked at if `greetings`: when their descriptors have something, and
  /// now and then.
  void progress(Nanoseconds now, bool greetings = true);
  /// What is to be waited for beside the core's transports.
  template <typename Each>
  void each_fd(const Each& each) const {
    if (paused_until_ == 0) each(listener_.get(), false);
    for (const auto& greeting : greetings_) each(greeting->fd(), greeting->wants_write());
  }
  bool busy() const { return under_way_ != 0; }

  const Counts& counts() const { return counts_; }
  std::size_t clients() const { return clients_.size(); }
  std::size_t stars() const { return stars_.size(); }
  /// Stars that a turn looks at: those with something to do.
  std::size_t attended() const { return attended_.size(); }
  std::uint64_t memory() const { return memory_; }

  // Guests
  Placement place(Trunk& trunk, const PieceHeader& piece) override;
  void arriving(Trunk& trunk, const PieceHeader& piece) override;
  bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) override;
  bool has_begun(TeamId id, OpNumber op) override;
  void peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) override;
  void failed(TeamId id) override;
  void going(const Trunk& trunk) override;

 private:
  struct Client {
    Peer* peer = nullptr;
    Nanoseconds seen = 0;  ///< when it last had a lane
    std::uint64_t failed = 0;  ///< descriptions
    unsigned in_row = 0;       ///< of them, the latest, if it is a rank
    std::size_t stars = 0;     ///< that it is in
    Nanoseconds ask_at = 0;    ///< for a sign of life, if it says nothing by itself
    bool asked = false;
  };
  /// Somebody has greeted with the id of a client that has lanes.
  struct Claim {
    Address client;
    Secret secret{};
    Nanoseconds until = 0;
  };
  struct Said {
    ProcessId by;
    TeamId team;
    OpNumber op;
    std::vector<std::byte> bytes;  ///< the description, and of a small vector the contribution
  };

  int listen_at(const addrinfo& at);
  void accept_greetings(Nanoseconds now);
  void pause(int error, Nanoseconds now);
  void make_room();
  void refused(int level, const std::string& why);
  void step_greetings(Nanoseconds now);
  void look_after(Nanoseconds now);
  static bool silent(Client& client, Nanoseconds now);
  bool claimed(ProcessId id) const;
  void judge(const Claim& claim, Nanoseconds now);
  bool take_in(const Address& client, const Secret& secret, Nanoseconds now);
  void drop_client(ProcessId id, const std::string& why);
  Peer* greeted() const;
  std::string upstream_trouble() const;
  bool usable(const Peer& upstream) const;
  void follow_upstream();
  void watch_upstream(Nanoseconds now);
  void give_up_all(const std::string& why);

  // aggregation_stars.cc
  HostedStar* find(TeamId id) const;
  bool shared(const Trunk& trunk) const;
  void hear(const Said& said);
  Status join(const Said& said, Client& from);
  Status open(TeamId id, std::size_t members, const Peer& first, HostedStar*& star);
  bool reserve(const HostedStar& star, std::uint64_t memory);
  bool reserve_kept(HostedStar& star);
  bool begin(HostedStar& star);
  bool lacks(const HostedStar& star, std::uint64_t memory, const char* why);
  void end(HostedStar& star);
  void attend();
  void give_up(TeamId id, const std::string& why);

  Core& core_;
  const bool in_rack_;
  Peer* upstream_ = nullptr;      ///< a rack's; null: it has none now
  ProcessId upstream_id_ = 0;     ///< that of the latest one
  Secret key_;
  Limits limits_;
  Fd listener_;
  std::uint16_t port_ = 0;
  Nanoseconds paused_until_ = 0;  ///< 0: accepting
  std::uint64_t pauses_ = 0;
  std::vector<std::unique_ptr<Greeting>> greetings_;
  std::map<ProcessId, Client> clients_;
  std::vector<Claim> claims_;
  std::map<TeamId, std::unique_ptr<HostedStar>> stars_;
  MarkedSet<HostedStar> attended_{&HostedStar::attended};
  std::vector<Said> said_;                            ///< that came with the last frames
  std::vector<std::pair<TeamId, std::string>> over_;  ///< to be given up, for that reason
  std::size_t under_way_ = 0;
  std::uint64_t memory_ = 0;
  std::uint64_t star_memory_ = 0;  ///< of the stars themselves, about
  Nanoseconds looked_ = 0;
  std::uint64_t lacks_ = 0;    ///< operations that there was no memory for
  Counts counts_;
};

}  // namespace nezha
