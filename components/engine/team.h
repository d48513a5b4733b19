// SPDX-License-Identifier: BSD-3-Clause
/// The engine's image of a communicator: its members in ring order, what they agreed on, and the operations under way.
/// Guarded by the engine's lock.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/aggregation/small_calls.h"
#include "engine/aggregation/stars.h"
#include "engine/hierarchy.h"
#include "engine/links.h"
#include "engine/notices.h"
#include "engine/operations.h"
#include "engine/peer.h"
#include "engine/unsampled.h"
#include "nezha/nezha.h"
#include "tuning/plan.h"
#include "tuning/table.h"
#include "tuning/team_shares.h"

namespace nezha {

class Team {
 public:
  /// `peers` by rank, null at `rank`, whose address is `self`; they and `buffers` outlive the team. Operations count from
  /// `before` + 1, on all members alike. `within_node`: see nezha_team_spec_t.
  Team(std::string name, int rank, std::vector<Peer*> peers, const Address& self, Nanoseconds wiring_until, BufferPool& buffers,
       OpNumber before = 0, bool within_node = false);

  const std::string& name() const { return name_; }
  int size() const { return view_.size; }
  int rank() const { return rank_; }
  TeamId id() const { return id_; }
  const Shape& shape() const { return shape_; }
  nezha_team_state_t state() const { return state_; }
  /// All members are on one node: they have no lanes, and all calls go by way of the hierarchy or to the incumbent.
  bool within_node() const { return within_node_; }
  const std::vector<Peer*>& peers() const { return peers_; }
  /// Of another rank.
  Peer& peer(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  /// By when wiring has come to its end, one way or the other, if all members are there.
  Nanoseconds wiring_until() const { return wiring_until_; }
  void set_wiring_until(Nanoseconds when) { wiring_until_ = when; }
  /// By when the lanes have been sampled, here and at the other members; 0: not after it became ready.
  Nanoseconds sampling_until() const { return sampling_until_; }
  void set_sampling_until(Nanoseconds when) { sampling_until_ = when; }
  /// The next member in ring order.
  Peer& ring_next() const { return peer(rank_at_[static_cast<std::size_t>(view_.next())]); }
  /// Whom this rank's part of large vectors goes to over the rails: the counterpart on the next node, where nodes add up first.
  Peer& next_peer() const { return hierarchy_ && hierarchy_->carries() ? peer(hierarchy_->next_counterpart()) : ring_next(); }

  // ---- lanes
  /// The members that this one needs lanes to by a plan, counterparts of other nodes included.
  std::vector<Peer*> would_need(const Plan& plan) const;
  /// Has lanes to its neighbours come up: `need` is told of each. Counterparts follow in make_hierarchy(). Before the team is
  /// ready; within a node nobody needs any.
  void link(const Plan& plan, const Links::Need& need);
  /// The lanes are not those that the agreed plan needs.
  bool relinks() const { return !within_node_ && links_.all() != plan_.meshes(view_.size); }
  /// Ranks that this one needs lanes to: neighbours in the team, and among counterparts of other nodes.
  const std::vector<int>& needed() const { return reach_.needed; }
  /// Ranks that a call may wait for: those, and the ranks of this node that it shares memory with.
  const std::vector<int>& watched() const { return reach_.watched; }
  bool needs(const Peer& peer) const { return peer.trunk && number_of(*peer.trunk) >= 0; }

  // ---- agreement
  bool agreement_due(std::size_t bytes);
  /// A call of so many bytes is about to come.
  void foresee(std::size_t bytes) { wants_rates_ = wants_rates_ || unsampled_.too_much(bytes); }
  /// The lanes to the next member have to be sampled: vectors come that are split by the rails' rates.
  bool wants_rates() const { return awaits_lanes_ || wants_rates_; }
  /// `fresh_id` counts on rank 0 only. `ready`: every needed peer has a lane; `failed`: one never will.
  void vote(std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, const Plan& own, TeamId fresh_id, bool ready,
            bool failed) const;
  /// What rank 0 knows beforehand, in the words of rows.h; to be called before its vote.
  void offer(std::vector<std::uint64_t> rows) { rows_ = std::move(rows); }
  /// The vote of a rank that has no engine or no team.
  static void vote_no(std::span<std::uint64_t, NEZHA_VOTE_WORDS> words);
  nezha_team_state_t decide(const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, const Plan& own,
                            Notices& notices);
  /// The text that this rank was given other parameters than rank 0; `which`: lines of it.
  Notice differing(std::string which) const;
  /// Rank 0 wants no call on the incumbent: every vote from now on waits for the lanes.
  bool awaits_lanes() const { return awaits_lanes_; }
  /// The last decision was the one that said so: the next agreement follows at once.
  bool votes_again() const { return votes_again_; }

  // ---- what carries a call
  const Plan& plan() const { return plan_; }
  /// Collectives that are learned, which are numbered first: all but barriers.
  static constexpr std::size_t kTables = static_cast<std::size_t>(Collective::barrier);
  /// Of one of these.
  Table& table(Collective collective = Collective::allreduce) { return tables_[static_cast<std::size_t>(collective)]; }
  const Table& table(Collective collective = Collective::allreduce) const {
    return tables_[static_cast<std::size_t>(collective)];
  }
  static bool learns(Collective collective) { return static_cast<std::size_t>(collective) < kTables; }
  /// What was measured no longer holds; `lost`: a lane was, over whose network the incumbent may run.
  void lanes_changed(bool lost);
  /// Rank 0 has said that it knows something: the first operation hands it to all.
  bool rows_due() const { return rows_due_; }
  /// It has become ready before all ranks had sampled their lanes.
  bool lacks_rates() const { return lacks_rates_; }
  /// The next agreement of such a call is about whether they have by now.
  bool rates_due(Collective collective, std::size_t bytes, std::size_t element) const {
    return lacks_rates_ && unsampled_.too_much(bytes) && !table(collective).leaves(bytes, element);
  }
  /// An agreement is due before a call of `bytes` bytes. To be asked again after each, until the call begins.
  bool must_agree(Collective collective, std::size_t bytes, std::size_t element);
  /// The operation that combines the words of the agreement over all ranks, and its algorithm.
  Call agreement(Collective collective, std::size_t bytes, std::size_t element);
  /// Rank 0's words are here now. Returns them; the table begins with them.
  std::vector<std::uint64_t> take_rows(Table::Recalled& recalled);
  /// That of rates_due() is over.
  void take_rates();
  /// Agreements go by way of the nodes' memory, as calls do.
  bool agrees_in_memory() const { return shares(Collective::allreduce, sizeof(std::uint64_t)); }
  AlgorithmChoice agreement_algorithm() const { return fewest_steps(agrees_in_memory() ? hierarchy_->nodes() : view_.size); }

  // ---- ranks of one node
  /// The team is to have a hierarchy, and has an id to make it by. Alike on all members.
  bool wants_hierarchy() const { return hierarchy_wanted_ && !hierarchy_ && state_ == NEZHA_TEAM_WIRING; }
  /// `acceptor`: see Hierarchy.
  void make_hierarchy(NodeAcceptor* acceptor, Nanoseconds deadline, const Clock& clock, const Links::Need& need,
                      const SharingOptions& sharing);
  /// Null: every rank sends to every other.
  Hierarchy* hierarchy() const { return hierarchy_.get(); }
  /// The same way, or another where calls that do not go by the nodes' shared memory have no lanes for it.
  Candidate flat(const Candidate& way, Collective collective, std::size_t bytes, std::size_t element) const;
  /// They are carried, for within a node memory carries some alone. `counts`: as of shares().
  bool serves(Collective collective, const std::size_t* counts) const {
    return !within_node_ || hierarchy_->carries(collective, counts);
  }
  /// Such calls, with such elements, go by way of the nodes' shared memory. `counts`: elements of each rank's block, if they have some.
  bool shares(Collective collective, std::size_t element, const std::size_t* counts = nullptr) const {
    return hierarchy_ && hierarchy_->carries(collective, counts) && state_ == NEZHA_TEAM_READY &&
           element <= hierarchy_->largest_element();
  }

  // ---- aggregators
  /// Null: the team uses none. Where it has a hierarchy they are the counterparts', and what goes through them is between nodes.
  Stars* stars() { return stars_ ? &*stars_ : nullptr; }
  /// The same for a blocking allreduce by way of lanes, from rank to rank; null also if nothing of such a call is to go through them.
  /// Counts these.
  Stars* stars_beside(AlgorithmChoice choice, nezha_op_t op, std::size_t bytes);
  /// Says how much of a blocking allreduce by way of the nodes' memory is to go through aggregators. False: none of it is.
  bool set_share(Call& call, AlgorithmChoice choice);
  /// After such a call, which took so long here; see TeamShares.
  bool share_due(const Call& call) { return shares_->due(call.bytes()); }
  std::span<std::uint64_t> share_words(Nanoseconds took) {
    return shares_->words(took, hierarchy_->went_through(), stars_ ? stars_->changes() : 0);
  }
  void share_combined(const Call& call) { shares_->combined(call.bytes()); }
  /// Null: small calls go over the rails.
  SmallCalls* small() { return small_ ? &*small_ : nullptr; }

  // ---- operations
  /// While there is room. What tells when it has ended: finished().
  OpNumber start(const Call& call, AlgorithmChoice choice) { return operations_.start(call, choice); }
  void leave_to_incumbent(std::size_t bytes) { operations_.leave_to_incumbent(bytes); }
  const Operations& operations() const { return operations_; }
  bool active() const {
    return operations_.active() || (hierarchy_ && hierarchy_->under_way()) || (stars_ && stars_->under_way()) ||
           (small_ && small_->under_way());
  }
  /// What is under way needs something of that member which has not come: bytes, or acknowledgements.
  bool awaits(int rank) const;
  /// For how long a member that is awaited through shared memory alone has shown no life there; none: lanes tell.
  std::optional<Nanoseconds> quiet_in_memory(int rank, Nanoseconds now) const;
  /// Goes on towards the end of that operation, or of all; true when it, or all, are over, or the team has failed.
  bool finished(OpNumber number) { return !doubt_ && operations_.finished(number); }
  bool finished() { return !doubt_ && operations_.finished(); }
  /// Ends what is under way without a result, and the team with it; the others are told who gave up.
  void fail(const std::string& why, const Failure& failure);
  const std::string& error() const { return error_; }

  bool in_setup = false, in_active = false, in_sharing = false;  ///< sets of the core's (marked_set.h)
  std::size_t memory_descriptors = 0;  ///< that the memory of its node takes until all have it; as the core found

  /// See nezha_team_spec_t. To be set before the first vote.
  bool incumbent_on_rails = false;
  /// A call that was left to the incumbent, if somebody wants to know how long it takes.
  struct Left {
    Nanoseconds since = 0;  ///< 0 = none
    std::size_t bytes = 0;
  };
  /// By collective: Open MPI's own may call another one of ours within it. Only their caller's.
  std::array<Left, kTables> left;

  // ---- what the trunks bring
  /// `id`: the team's, or its hierarchy's, a star's or that of small calls.
  bool has_begun(TeamId id, OpNumber op) const;
  void peer_at(const Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) {
    if (const Place place = place_of(trunk, id); place.number >= 0) place.operations->peer_at(place.from(), begun, ended);
  }
  Placement place(const Trunk& trunk, const PieceHeader& piece);
  void arriving(const Trunk& trunk, const PieceHeader& piece);
  bool arrived(const Trunk& trunk, const PieceHeader& piece, const std::byte* data);
  /// The other end is a member.
  bool has(const Trunk& trunk) const { return number_of(trunk) >= 0; }

  /// Why what is under way will not be completed. Nothing of it is touched any more, until fail() tells the members.
  struct Doubt {
    Failure failure;
    PieceHeader piece;             ///< differs: which the operation cannot have
    std::exception_ptr exception;  ///< broken
  };
  const std::optional<Doubt>& doubt() const { return doubt_; }
  /// That piece of another member cannot be.
  void differs(const Trunk& trunk, const PieceHeader& piece);
  /// The algorithm, or the host's reduction, has thrown this.
  void broke(std::exception_ptr exception);

 private:
  /// The operations that the other end means by that id, and its number among their neighbours; -1: none.
  struct Place {
    Operations* operations = nullptr;
    const TeamView* view = nullptr;
    int number = -1;

    std::size_t from() const { return static_cast<std::size_t>(number); }
    int position() const { return view->neighbours[from()]; }
  };
  Place place_of(const Trunk& trunk, TeamId id) {
    return id == id_ ? Place{&operations_, &view_, links_.number_of(trunk)} : place_beside(trunk, id);
  }
  /// By another id than its own.
  Place place_beside(const Trunk& trunk, TeamId id);
  /// The other end's number among those that this process needs lanes to; -1: none.
  int number_of(const Trunk& trunk) const;
  RanksByNode by_node(const Plan& plan) const;
  struct Reach {
    std::vector<int> needed, watched;
  };
  Reach reach(const Links& links, const Hierarchy* hierarchy) const;
  void order_by_node(const std::string& own_node);
  bool awaits_by_lanes(int rank) const;
  bool sampled() const;
  bool lacks_lane() const;
  double rate() const;
  double best_rail() const;
  void begin_tables(const Terms& terms);
  bool shares_nodes() const;
  void make_stars();
  nezha_team_state_t decline();

  std::string name_;
  std::string own_node_;
  RailSet own_near_;
  int rank_;
  const bool within_node_;
  Shape shape_;
  Nanoseconds wiring_until_;
  Nanoseconds sampling_until_ = 0;
  std::vector<Peer*> peers_;    ///< by rank
  std::vector<int> rank_at_;    ///< rank by position
  Links links_;
  Reach reach_;
  TeamView view_;
  Operations operations_;
  bool hierarchy_wanted_ = false;
  std::unique_ptr<Hierarchy> hierarchy_;
  std::optional<Stars> stars_;
  std::optional<TeamShares> shares_;  ///< where counterparts have stars, of all ranks
  std::optional<SmallCalls> small_;

  nezha_team_state_t state_ = NEZHA_TEAM_WIRING;
  std::size_t asked_ = 0;  ///< calls of agreement_due
  std::size_t next_agreement_ = 1;
  bool awaits_lanes_ = false;
  bool votes_again_ = false;
  TeamId id_ = 0;
  Plan plan_;
  std::array<Table, kTables> tables_;  ///< by collective
  std::vector<std::uint64_t> rows_;
  bool rows_due_ = false;
  Unsampled unsampled_;
  bool wants_rates_ = false;
  bool lacks_rates_ = false;
  std::array<std::uint64_t, 3> rate_words_{};

  std::optional<Doubt> doubt_;
  std::string error_;
};

}  // namespace nezha
