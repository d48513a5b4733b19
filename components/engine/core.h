// SPDX-License-Identifier: BSD-3-Clause
/// Everything of one process's engine except threads, locks and the system's clock: peers, teams, trunks, transports.
/// The simulator and the tests drive it step by step; engine.h drives it from real threads under one lock.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/notices.h"
#include "engine/peer.h"
#include "engine/team.h"
#include "engine/wiring.h"
#include "nezha/nezha.h"
#include "rail/rail.h"
#include "util/log.h"
#include "util/params.h"

namespace nezha {

class Core final : public PieceReceiver, public Admission {
 public:
  /// `clock` outlives the core. `id` and `key` come from the caller, so that a simulation can choose them.
  Core(const Config& config, const Clock& clock, const Log& log, std::uint32_t job_rank, std::string node,
       ProcessId id, const Secret& key);
  ~Core();

  /// Adds a transport; its rails get the next indices. Before the first peer.
  void add_transport(std::unique_ptr<Transport> transport);
  std::size_t rails() const { return self_.rails.size(); }
  const Address& self() const { return self_; }
  /// Words of the share parameter that name no rail.
  std::vector<std::string> unknown_shares() const;

  /// The peer with that address, known from now on. Null: `why` tells.
  Peer* add_peer(std::span<const std::byte> address, bool same_node, Status& why);

  Team* create_team(std::string name, int rank, std::vector<Peer*> peers);
  void destroy_team(Team& team);
  /// Every lane of the team is up, or has been waited for long enough, and sampled.
  bool wired(const Team& team) const;
  void vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  nezha_team_state_t decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  /// Begins an operation; Team::finished() tells when it is over.
  void start(Team& team, const Call& call, AlgorithmChoice choice);

  /// Moves what can be moved now. True when anything happened.
  bool progress(Watch watch);
  /// What is due by time: connections, lanes that are waited for too long.
  void step(Nanoseconds now);
  /// Sends owed acks; true while anything is outstanding.
  bool settle();
  /// See Transport::doze().
  void doze();
  /// A team is being wired: lanes come up and are sampled, also by peers whose bytes must be taken.
  bool wiring() const;
  /// When step() must be called next; 0 = no need.
  Nanoseconds next_due() const;

  std::span<const std::unique_ptr<Transport>> transports() const { return transports_; }
  const Config& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  const Log& log() const { return log_; }
  Notices take_notices() { return std::move(notices_); }
  bool has_notices() const { return !notices_.empty(); }
  const std::deque<RailLoad>& loads() const { return loads_; }
  /// Memory that one peer may cost beyond its sockets, shrinking with their number.
  TrunkOptions trunk_options(std::uint64_t peer_window) const;

  // PieceReceiver
  Placement place(Trunk& trunk, const PieceHeader& piece) override;
  bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) override;
  bool has_begun(TeamId team, OpNumber op) override;
  void peer_began(Trunk& trunk, TeamId team, OpNumber op) override;
  void team_failed(TeamId team, std::uint64_t who) override;
  void lane_suspected(Trunk& trunk, const Lane& lane, Nanoseconds silent) override;
  void lane_forgiven(Trunk& trunk, const Lane& lane) override;
  void lane_lost(Trunk& trunk, Lane& lane, const Status& why) override;

  // Admission
  const Secret* secret(ProcessId peer) const override;
  bool expects(const LaneSpec& spec) const override;
  LaneEvents& lane_up(Lane& lane) override;
  void lane_failed(const LaneSpec& spec, const Status& why) override;
  void rail_back(std::uint8_t local_rail) override { wiring_.rail_back(local_rail, clock_.now()); }

 private:
  Team* team_of(TeamId id) const;
  Transport& transport_of(const LaneSpec& spec) const { return *transports_[transport_of_[spec.local_rail]]; }
  void connect(const Peer& peer, const Wire& wire, Nanoseconds deadline);
  void watch_life(Nanoseconds now);
  void give_up(Team& team, int lost);
  void fail(Team& team, std::uint64_t who, const std::string& why);
  bool listening() const;

  const Config config_;
  const Clock& clock_;
  const Log log_;
  Address self_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::size_t> transport_of_;  ///< by rail
  std::vector<std::size_t> first_rail_;    ///< by transport
  std::deque<RailLoad> loads_;             ///< by rail
  Notices notices_;
  Wiring wiring_;
  std::unordered_map<ProcessId, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::unordered_map<TeamId, Team*> ready_;
  Nanoseconds listened_ = 0;  ///< when the lanes' far ends were last looked at
  Nanoseconds life_due_ = 0;  ///< when peers of operations under way are next asked for signs of life
  std::vector<std::pair<Lane*, Transport*>> dead_;  ///< to be forgotten outside their own callbacks
};

}  // namespace nezha
