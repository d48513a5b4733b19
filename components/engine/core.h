// SPDX-License-Identifier: BSD-3-Clause
/// Everything of one process's engine except threads, locks and the system's clock: peers, teams, trunks, transports.
/// The simulator and the tests drive it step by step; engine.h drives it from real threads under one lock.
#pragma once

#include <array>
#include <bitset>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/aggregation/aggregators.h"
#include "engine/aggregation/guests.h"
#include "engine/marked_set.h"
#include "engine/notices.h"
#include "engine/peer.h"
#include "engine/ready_teams.h"
#include "engine/table_files.h"
#include "engine/team.h"
#include "engine/wiring.h"
#include "nezha/nezha.h"
#include "rail/rail.h"
#include "util/log.h"
#include "util/params.h"
#include "util/random.h"

namespace nezha {

class Core final : public PieceReceiver, public OperationNews, public LaneNews, public Admission {
 public:
  /// `clock` outlives the core. `id` and `key` come from the caller, so that a simulation can choose them.
  Core(const Config& config, const Clock& clock, const Log& log, std::uint32_t job_rank, std::string node, ProcessId id,
       const Secret& key);
  ~Core();

  /// What comes for ids that are no team's is `guests`', which outlives the core's last progress().
  void serve(Guests& guests) { guests_ = &guests; }
  /// Where ids of teams come from: the kernel's random numbers, or what a simulation makes of its seed. Ids never repeat.
  using IdSource = std::function<Status(TeamId& id)>;
  void draw_ids_from(IdSource source) { draw_id_ = std::move(source); }
  /// Where the processes are that parameters name as aggregators, in their order, null where there is no link: Aggregators, or a
  /// simulation that greets them itself.
  using AggregatorSource = std::function<std::vector<Peer*>()>;
  void find_aggregators_by(AggregatorSource source) { find_aggregators_ = std::move(source); }
  BufferPool& buffer_pool() { return buffers_; }

  /// Adds a transport; its rails get the next indices. Before the first peer.
  void add_transport(std::unique_ptr<Transport> transport);
  std::size_t rails() const { return self_.rails.size(); }
  /// Where a rail is, for people; a peer's too.
  std::string where(const RailAddress& address) const;
  /// The PCIe device of the process's rail `rail`, of which all rails on it share the capacity; empty: it is not known.
  std::string pci_device(std::size_t rail) const;
  /// See Transport::employ(); by the process's number of the rail.
  void employ(std::size_t rail, RailWorker& worker);
  /// See Transport::employ_service(). Once all transports are there.
  void employ_service(RailWorker& service);
  const Address& self() const { return self_; }
  /// Before that is published.
  void set_near(RailSet rails) { self_.near = rails; }
  /// Other than a program has it. Before the acceptor is open.
  void share_by(const SharingOptions& sharing) { sharing_options_ = sharing; }
  /// Members of this node may ask for shared memory. Not ok: why they cannot, and no team of this process has any.
  Status open_acceptor();
  /// Words of the share parameter that name no rail.
  std::vector<std::string> unknown_shares() const;

  /// The peer with that address, known from now on: no more than that until a team needs lanes to it, or it connects.
  /// Null: `why` tells.
  Peer* add_peer(std::span<const std::byte> address, bool same_node, Status& why);

  /// A process that is no rank of the job: the pair has met otherwise, and shares that secret. Null: it cannot be.
  Peer* add_outsider(Address address, const Secret& secret);
  /// One that no team has. Its lanes are closed.
  void remove_outsider(Peer& peer);

  /// It is to have lanes: a team needs them, or it connects. They are wired only when a team wants them.
  void open(Peer& peer);

  /// `before`: tests have a team count its operations from there on.
  /// `within_node`: see nezha_team_spec_t.
  Team* create_team(std::string name, int rank, std::vector<Peer*> peers, OpNumber before = 0, bool within_node = false) {
    return add_team(plan_team(std::move(name), rank, std::move(peers), before, within_node));
  }
  /// The same in two steps: in the first one nothing is connected.
  std::unique_ptr<Team> plan_team(std::string name, int rank, std::vector<Peer*> peers, OpNumber before = 0,
                                  bool within_node = false);
  Team* add_team(std::unique_ptr<Team> team);
  /// How many lanes would come up that are not there yet, if that team were added.
  std::size_t lanes_to_come(const Team& team) const;
  /// And how many descriptors memory takes that is not there yet: that of this team, and of those before it.
  std::size_t memory_to_come(const Team& team) const;
  /// From here on only peers that a team of this process needs may connect.
  void admit_wanted_only() { wanted_only_ = true; }
  void destroy_team(Team& team);
  /// A ready team is about to have a call of so many bytes: if it lacks rates, its lanes are sampled from now on.
  void sample(Team& team, std::size_t bytes);
  /// Every lane of the team is up, or has been waited for long enough, and sampled if calls need that.
  bool wired(const Team& team) const;
  void vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  nezha_team_state_t decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words);
  /// The rails of this process that are, to the team, those of its rank 0: on that node the ones of the same names,
  /// elsewhere the ones that have lanes to them.
  RailSet rails_here(const Team& team, RailSet rails) const;
  /// The operation that hands out what rank 0 knows is over.
  void take_rows(Team& team);
  /// What members can reach is combined: the team uses those aggregators from here on that all can. `linked`: as aggregators()
  /// has them.
  void join_stars(Team& team, std::span<Peer* const> linked);
  /// Leaves the aggregators whose sums a member lacks, by the combined confirmation. Returns what the rails have to carry instead of
  /// that call.
  std::vector<Unsummed> leave_stars(Team& team, const Call& call);
  /// The same three by way of the team's hierarchy, which they do not outlive.
  std::unique_ptr<StarLinks> links_of_stars(Team& team);
  /// Whether that call may go whole through an aggregator: a small one, of a team that has some.
  static bool may_go_small(Team& team, const nezha_call_t& what);
  /// Before such a call, again until there are none: words that the members combine by an operation of the team.
  std::optional<Call> small_words(Team& team, const nezha_call_t& what);
  /// They are combined.
  void small_agreed(Team& team, const nezha_call_t& what);
  /// Then: what the call goes through, alike on all members; null: over the rails. To be asked once for each call.
  Star* star_for_small(Team& team, const nezha_call_t& what);
  /// Beside what the rails carry of that call.
  void begin_stars(Team& team, const Call& call);
  void begin_small(Team& team, const Call& call, Star& star);
  /// It goes on; true when it is over, or the team has failed.
  bool small_settled(Team& team);
  /// Another operation of the team, to which all contribute, is over.
  void small_confirmed(Team& team);
  /// Teams that are destroyed, and of which lanes still have to take something.
  std::size_t parting() const { return parting_.size(); }
  std::vector<Peer*> aggregators() const;
  /// See Aggregators.
  std::string aggregator_trouble(std::size_t place) const;
  /// For a process without teams: greets the aggregators that the configuration names, with that key; again for a new one.
  void greet_aggregators(const Secret& key);
  /// The job is about to end, everywhere: lanes that are lost are no news.
  void ending();
  /// See Transport.
  void part();
  bool parted() const;
  /// The team cannot go on for a reason of this process's own, an exception: every member gets an error.
  void break_off(Team& team, const std::exception_ptr& exception);
  bool saves_tables() const { return tables_.saves(); }
  void check_tables(Notices& notices) const { tables_.check(notices); }
  /// With what all teams have learned so far; to be saved without the engine's lock.
  TableFiles learned_tables();
  /// Bytes that each rail has sent so far.
  std::array<std::uint64_t, kMaxRails> sent() const;
  /// Begins an operation, while the team has room; Team::finished() tells when it is over. `more`: another begins at
  /// once, so that what this one sends may wait for it, or for send_held().
  OpNumber start(Team& team, const Call& call, AlgorithmChoice choice, bool more = false);
  /// The same for a call that the incumbent carries.
  void leave_to_incumbent(Team& team, std::size_t bytes);
  /// Begins a call by way of the nodes' shared memory; Hierarchy::over() tells when it is over. `blocks`: its caller
  /// waits, and the one before it is over; else while Hierarchy::room().
  Hierarchy::Ticket start_shared(Team& team, const Call& call, AlgorithmChoice choice, bool blocks);
  /// Goes on with what is under way by way of shared memory alone. True when anything moved. Part of progress().
  bool climb();
  /// What calls by way of shared memory have taken so far, over all teams.
  Hierarchy::Times shared_times() const;
  /// Calls are under way by way of shared memory.
  bool climbs() const { return !climbing_.empty(); }
  /// The memory to sleep on while the only team with such calls waits for ranks of this node alone; else null.
  NodeMemory* only_node() const;
  bool holds() const { return cork_.left(); }
  void send_held() { cork_.send(); }

  /// Moves what can be moved now. True when anything happened.
  bool progress(Watch watch);
  /// The parts of progress() and step() that make lanes and memory for teams to come. Takes nothing that peers sent, and so neither
  /// reduces anything nor knows who is silent.
  bool wire(Nanoseconds now);
  /// What is due by time: connections, lanes that are waited for too long.
  void step(Nanoseconds now);
  /// Sends owed acks; true while anything is outstanding.
  bool settle();
  /// A rank that a lane leads to lacks something, or an ack.
  bool owes();
  /// Shows the ranks of this node that this process runs, often enough for any timeout of theirs. To be called at
  /// next_beat() at the latest, whatever else is under way; 0: nobody looks.
  void beat(Nanoseconds now);
  Nanoseconds next_beat() const { return beat_due_; }
  /// Sends every peer something to hear, where nobody may look at what comes.
  void show_life();
  /// See Transport::arm_payload_wakeup().
  void arm_payload_wakeup();
  /// A team is being wired: lanes come up and are sampled, also by peers whose bytes must be taken.
  bool wiring() const;
  /// When step() must be called next; 0 = no need.
  Nanoseconds next_due() const;
  /// How many teams a step looks at for connections, samples and signs of life.
  std::size_t attended() const { return setting_up_.size() + active_.size(); }

  std::span<const std::unique_ptr<Transport>> transports() const { return transports_; }
  const Config& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  const Log& log() const { return log_; }
  void notify(Notice notice) { notices_.push_back(std::move(notice)); }
  Notices take_notices() { return std::move(notices_); }
  bool has_notices() const { return !notices_.empty(); }
  const BufferPool& buffers() const { return buffers_; }
  const std::deque<RailLoad>& loads() const { return loads_; }
  const RailLoad& loopback_load() const { return loopback_load_; }
  void tell_of_lanes(LaneWatcher* watcher) { wiring_.tell(watcher); }
  /// Memory that one peer may cost beyond its sockets, shrinking with their number.
  TrunkOptions trunk_options(std::uint64_t peer_window) const;

  // PieceReceiver
  Placement place(Trunk& trunk, const PieceHeader& piece) override;
  void arriving(Trunk& trunk, const PieceHeader& piece) override;
  bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) override;

  // OperationNews
  bool has_begun(TeamId team, OpNumber op) override;
  void peer_at(Trunk& trunk, TeamId team, OpNumber begun, OpNumber ended) override;
  void team_failed(TeamId team, const Failure& failure) override;

  // LaneNews
  void peer_rail(Trunk& trunk, const RailNotice& notice) override;
  void lane_suspected(Trunk& trunk, const Lane& lane, Nanoseconds silent) override;
  void lane_forgiven(Trunk& trunk, const Lane& lane) override;
  void lane_lost(Trunk& trunk, Lane& lane, const Status& why) override;

  // Admission
  const Secret* secret(ProcessId peer) const override;
  bool expects(const LaneSpec& spec) const override;
  bool wants(const LaneSpec& spec) const override;
  LaneEvents& lane_up(Lane& lane) override;
  void lane_failed(const LaneSpec& spec, const Status& why) override;
  void rail_back(std::uint8_t local_rail, const RailAddress& address) override;
  std::optional<std::uint8_t> rail_added(Transport& transport, const RailAddress& address) override;

 private:
  Peer* add(std::unique_ptr<Peer> peer);
  Team* team_of(TeamId id) const { return ready_.find(id); }
  Links::Need need();
  Nanoseconds wiring_patience() const;
  void all_are_there(Team& team);
  void decided(Team& team, const Status& trouble, bool was_to_share);
  void make_ready(Team& team);
  void keep_table(const Team& team);
  RailNames rails_of_first(const Team& team) const;
  void compare_rows(const Team& team, std::span<const std::uint64_t> rows);
  void lanes_changed(const Peer& peer, bool lost);
  void connect(const Peer& peer, const Wire& wire, Nanoseconds deadline);
  template <typename Look>
  bool look(const Look& look);

  // core_rails.cc
  struct Place;
  Place place_of(std::uint8_t rail) const;
  RailLoad& load_of(std::uint8_t rail) { return rail == kLoopbackRail ? loopback_load_ : loads_[rail]; }
  void add_wire(Peer& peer, RailPair rails, bool spare, bool expected_up);
  void add_rail(Transport& transport, const RailAddress& address);
  /// The loopback's is the first, if they have it.
  std::vector<RailPair> pairs_with(const Peer& peer) const;
  void wire_up(Peer& peer, bool expected_up);
  void rail_moved(std::uint8_t local_rail, const RailAddress& address);
  void tell_back(std::uint8_t local_rail);
  void announce(std::uint8_t local_rail);
  void tell_rails(Peer& peer);
  void take_news();

  void ask_for_life(const Team& team);
  void watch_life(Nanoseconds now);
  void watch_stars(Team& team, Nanoseconds now);
  void leave_star(Team& team, Stars::Index aggregator);
  void go_without(Team& team, Stars::Index aggregator);
  void leave_lost_star(Team& team);
  void let_part(std::unique_ptr<Team> team);
  /// `in_memory`: it gave none in the memory of their node, else on no rail.
  void give_up(Team& team, int lost, bool in_memory);
  /// `of`: on which rank it gave up; -1 = on itself.
  static Failure failure_of(const Team& team, Failure::Why why, int of = -1);
  std::string label(const Team& team, std::size_t rank) const;
  void settle_doubts();
  void take_early_failure(const Team& team);
  bool climb_on();
  bool climb_on(Team& team);
  void step_samples(Nanoseconds now);
  void watch_members(Team& team, Nanoseconds now);
  std::size_t descriptors_of_memory(const Team& team) const;
  void share_memory(Nanoseconds now);
  bool joins_memory(Nanoseconds now) const;
  void join_memory(Nanoseconds now);
  void look_at_some(Nanoseconds now);
  void fail(Team& team, const Failure& failure, const std::string& why);
  bool listening() const;
  bool setting_up() const;
  void refresh_loads(Nanoseconds now);
  void step_buffers(Nanoseconds now);

  const Config config_;
  const Clock& clock_;
  const Log log_;
  Address self_;
  std::vector<std::unique_ptr<Transport>> transports_;
  struct Place {
    Transport* transport;
    std::size_t rail;  ///< among those of the transport, or kLoopbackRail
  };
  std::vector<Place> places_;      ///< by rail
  std::deque<RailLoad> loads_;     ///< by rail
  Transport* loopback_ = nullptr;  ///< whose it is, if there is one
  RailLoad loopback_load_;
  std::bitset<kMaxRails> moved_;                    ///< rails that are not as they were published
  std::vector<std::pair<Peer*, RailNotice>> news_;  ///< rails of peers that have moved
  Cork cork_;
  Busy busy_;
  Notices notices_;
  BufferPool buffers_;           ///< of all teams
  Nanoseconds buffers_due_ = 0;  ///< when it is next asked to release what nobody uses; 0: nothing is in excess
  TableFiles tables_;
  Wiring wiring_;
  std::unordered_map<ProcessId, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> open_;  ///< those with a trunk
  std::uint32_t numbered_ = 0;  ///< trunks of ranks
  Guests* guests_ = nullptr;
  IdSource draw_id_ = random_id;
  std::unique_ptr<Aggregators> aggregators_;  ///< null: none are named
  AggregatorSource find_aggregators_;         ///< in their place
  SharingOptions sharing_options_;
  std::optional<NodeAcceptor> acceptor_;  ///< outlives the teams
  Nanoseconds shared_ = 0;            ///< when shared memory was last looked after
  Nanoseconds all_shared_ = 0;        ///< and that of teams without a call
  std::size_t looked_at_ = 0;         ///< how many of these, over all looks
  Hierarchy::Times shared_before_;    ///< of teams that are gone
  Nanoseconds beat_due_ = 0;          ///< when this process next shows that it runs; 0: to nobody
  std::vector<std::unique_ptr<Team>> teams_;
  struct Parting {
    std::unique_ptr<Team> team;
    Nanoseconds until;  ///< then it goes in any case: members that took nothing for so long are dead
  };
  std::vector<Parting> parting_;  ///< are gone, but for what lanes have to take of them
  std::vector<Team*> climbing_;  ///< with a call under way by way of shared memory
  MarkedSet<Team> setting_up_{&Team::in_setup};  ///< all that may be in wiring, or have their lanes sampled
  MarkedSet<Team> active_{&Team::in_active};     ///< all that may have something under way
  MarkedSet<Team> sharing_{&Team::in_sharing};   ///< those with a hierarchy
  ReadyTeams ready_;
  std::size_t most_lanes_ = 1;  ///< to one peer
  bool wanted_only_ = false;
  bool doubts_ = false;  ///< some team has one
  std::array<std::pair<TeamId, Failure>, 64>
      early_failures_{};  ///< the latest, of teams that are not ready here or are gone
  std::size_t early_failure_ = 0;
  Nanoseconds listened_ = 0;  ///< when the lanes' far ends were last looked at
  Nanoseconds life_due_ = 0;  ///< when peers of operations under way are next asked for signs of life
  std::vector<std::pair<Lane*, Transport*>> dead_;  ///< to be forgotten outside their own callbacks
};

}  // namespace nezha
