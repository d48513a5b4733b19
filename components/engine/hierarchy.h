// SPDX-License-Identifier: BSD-3-Clause
/// The calls of a team whose nodes have several members: added up on each node in shared memory, between nodes by as many members of
/// each as the smallest node has, or fewer (Call::carriers), each for its part, and shared on the node. Broadcasts and reductions leave
/// out what is not theirs (hierarchy_track.h). The order of sums depends on position alone: members of a node in their order there
/// (ranks_by_node.h), then nodes as an algorithm of as many ranks does it. Within one node there are no carriers, and nothing goes
/// between nodes.
///
/// A call goes on a track (hierarchy_track.h): blocking ones on the first, the others on the rest in turn. All members
/// make the same calls in the same order, so that a call has the same track on all. Guarded by the engine's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/columns.h"
#include "engine/hierarchy_track.h"
#include "engine/links.h"
#include "engine/operations.h"
#include "engine/peer.h"
#include "engine/ranks_by_node.h"
#include "node/node_life.h"
#include "node/segment.h"
#include "util/collective.h"

namespace nezha {

/// How a team is cut, and what its memory comes from. Alike on all members but for `system`. A simulation has other ones than
/// programs, which all have these.
struct SharingOptions {
  std::size_t chunk = 256 * 1024;  ///< that the ranks of a node work on in turn
  /// A part goes in about so many segments, unless they would be smaller or larger than that.
  std::size_t segments = 8, least_segment = 256 * 1024, most_segment = 2 * 1024 * 1024;
  std::size_t least_part = 32 * 1024;  ///< a smaller one costs another rank more than it relieves the others of
  std::size_t least_column = 128 * 1024;  ///< the same, of an allgather
  std::size_t single_copy_from = NodeStageOptions{}.single_copy_from;
  std::size_t single_copy_chunk = NodeStageOptions{}.single_copy_chunk;
  const NodeSystem* system = &NodeSystem::real();  ///< outlives the teams
};

class Hierarchy {
 public:
  /// Alike on all members but for `rank`, `peers` and what `sharing` says.
  struct Spec {
    TeamId team = 0;
    int rank = 0;
    RanksByNode nodes;         ///< one: the sum of its ranks is the result, and there are no peers to send to
    std::vector<Peer*> peers;  ///< by rank, null at the own
    BufferPool* buffers = nullptr;
    Nanoseconds deadline = 0;  ///< for the shared memory
    const Clock* clock = nullptr;  ///< for times(); outlives this
    bool all = false;              ///< counterparts have lanes to all others
    Links::Need need;
    SharingOptions sharing;
  };

  /// `acceptor`: where this process hands out shared memory; outlives this. Null: it has none, and then no node has any.
  Hierarchy(Spec spec, NodeAcceptor* acceptor);

  struct Counterparts {
    int own = 0;             ///< the number of the rank's node
    std::vector<int> ranks;  ///< by node, the own rank among them; empty: it carries nothing
  };
  /// The ranks of the same place on their nodes, if every node has one there.
  static Counterparts counterparts(const RanksByNode& nodes, int rank);

  /// How many ranks of each node carry a vector, and bytes of a segment of it: the same on all ranks.
  std::size_t carriers(const Call& call) const;
  std::size_t segment(const Call& call) const;
  /// How many can carry; 0: there is one node.
  std::size_t most_carriers() const { return most_carriers_; }
  const SharingOptions& sharing() const { return spec_.sharing; }
  /// A reduce_scatter goes as an allreduce of which each rank keeps its block.
  bool as_allreduce(const Call& call) const {
    return most_carriers_ != 0 && blocks().as_allreduce(call.collective, carriers(call));
  }
  int nodes() const { return static_cast<int>(spec_.nodes.size()); }
  /// What parts go over between nodes; alike on all members.
  std::vector<TeamId> ids() const;
  bool has(TeamId id) const { return id - tracks_.front()->id() < tracks_.size(); }
  /// Of an id that it has; null: this process carries nothing.
  Operations* operations(TeamId id) const { return tracks_[id - tracks_.front()->id()]->operations(); }
  /// The counterparts, whose ranks there are the numbers of their nodes.
  const TeamView& view() const { return view_; }
  /// The rank of the counterpart on that node.
  int counterpart(int node) const { return rank_at_[static_cast<std::size_t>(node)]; }
  /// This rank takes part between nodes: it has a counterpart on each.
  bool carries() const { return !rank_at_.empty(); }
  /// The rank of that on the next node, if it does.
  int next_counterpart() const { return counterpart(view_.next()); }
  /// Counterparts that this process needs lanes to.
  const Links& links() const { return links_; }
  /// Ranks of this node, the own one included.
  const std::vector<int>& mates() const { return mates_; }
  /// Bytes per nanosecond towards the next node's counterpart, as far as it is known.
  double rate() const;
  double best_rate() const;

  // ---- the shared memory
  /// Goes on with getting it, and looks whose process has ended.
  void progress(Nanoseconds now);
  bool settled() const { return !segment_ || segment_->state() != Segment::State::joining; }
  /// Descriptors that it holds of this process's.
  std::size_t connections() const { return segment_ ? segment_->connections() : 0; }
  /// Why this node has no shared memory that all of it can use; ok: it has, or needs none.
  Status trouble() const;
  /// Elements of more bytes are left to the flat way.
  std::size_t largest_element() const { return tracks_.back()->largest_element(); }
  /// How members read each other's vectors, for the log.
  std::string access() const;
  /// This process shows the ranks of its node that it runs. True where there are any.
  bool beat();
  /// For how long a rank of this node that shares memory with this one has shown nothing, asked now and then; none for
  /// others.
  std::optional<Nanoseconds> quiet(int rank, Nanoseconds now);

  /// What calls took: of this rank on its node, and while segments were under way between nodes.
  struct Times {
    NodeTimes node;
    Nanoseconds between = 0;
    Times& operator+=(const Times& other);
  };
  Times times() const;

  // ---- aggregators
  /// This rank's place among those of its node that carry.
  std::size_t place() const { return self_; }
  /// Blocking calls go through aggregators too, if this rank carries. `stars`: of the counterparts; outlive this.
  void use(Stars& stars, std::unique_ptr<StarLinks> links) {
    star_links_ = std::move(links);
    tracks_.front()->use(stars, *star_links_);
  }
  /// Bytes of that call, the latest blocking one, that did: the share of this rank's part, of the whole vector. 0 where it carried none.
  std::size_t aggregated(const Call& call) const {
    return std::min(tracks_.front()->aggregated() * carriers(call), call.bytes());
  }

  /// See AggregatedCarrier.
  bool went_through() const { return tracks_.front()->went_through(); }

  // ---- calls
  /// What calls there are: others go the flat way. `counts`: of those whose ranks have blocks.
  bool carries(Collective collective) const { return has_columns_ || !has_blocks(collective); }
  bool carries(Collective collective, const std::size_t* counts) const {
    return !has_blocks(collective) || (has_columns_ && Columns::even(counts, spec_.peers.size()));
  }
  /// One of them, for over().
  struct Ticket {
    std::size_t track = 0;
    OpNumber number = 0;
  };
  /// A blocking one, when the one before it is over. `call.chunk` is for a segment.
  Ticket begin(const Call& call, AlgorithmChoice choice) { return begin_on(0, call, choice); }
  /// The next one that does not block may begin.
  bool room() const { return !tracks_[next_track()]->under_way(); }
  Ticket begin_request(const Call& call, AlgorithmChoice choice);
  bool over(const Ticket& ticket) const { return tracks_[ticket.track]->over(ticket.number); }
  bool under_way() const { return !under_way_.empty(); }
  /// Goes on without blocking. True when anything moved; what has ended it, if anything, is lost_member().
  bool poll();
  /// A call waits for something of that rank.
  bool awaits(int rank) const;
  /// The rank because of which a call will never be over; -1: none. `why`: filled if there is one.
  int lost_member(std::string& why) const;
  /// Ends what is under way without a result.
  void fail(const Failure& failure);

  /// While all calls wait for members of the node alone: their memory, to sleep on; else null.
  NodeMemory* only_node();
  /// Somebody sleeps on it, so that this has to stay.
  bool slept_on() const { return life_ && segment_->memory().slept_on(); }

 private:
  std::optional<std::uint32_t> mate(int rank) const;
  HierarchyTrack::Root root_of(const Call& call) const;
  std::size_t next_track() const { return 1 + requests_ % (tracks_.size() - 1); }
  Ticket begin_on(std::size_t track, const Call& call, AlgorithmChoice choice);
  const BlockVectors& blocks() const { return tracks_.front()->blocks(); }
  const Trunk& next() const { return *view_.trunks[view_.number(view_.next())]; }

  Spec spec_;
  std::vector<int> node_of_;             ///< by rank
  std::vector<int> mates_;               ///< ranks on this node, the own one included
  std::uint32_t self_ = 0;               ///< among them
  std::vector<std::uint32_t> places_;    ///< 0, 1, ..., of the members of this node
  std::size_t most_carriers_ = 0;        ///< the first of them
  bool has_columns_ = false;
  std::unique_ptr<Segment> segment_;     ///< null: this rank is alone on its node
  std::optional<NodeLife> life_;         ///< once the segment is ready
  Status without_;                       ///< not ok: there will be no segment
  Links links_;                          ///< to counterparts, whose positions are those of their nodes
  std::vector<int> rank_at_;             ///< in the team, of the counterparts by node
  std::vector<int> numbers_;             ///< of nodes: 0, 1, ...
  TeamView view_;
  std::vector<std::unique_ptr<HierarchyTrack>> tracks_;
  std::vector<HierarchyTrack*> under_way_;  ///< those with a call, the oldest first; has room for all
  std::uint64_t requests_ = 0;              ///< calls begun that do not block
  std::unique_ptr<StarLinks> star_links_;
};

}  // namespace nezha
