// SPDX-License-Identifier: BSD-3-Clause
/// An algorithm: one collective as a dataflow of chunks between peers. One file each; a row of the table in
/// algorithms.cc. Ring, mesh and halving carry all collectives but the barrier, which has one of its own; the others an
/// allreduce.
///
/// Guarded by the engine's lock. An object serves operations of one team, one after the other, and keeps what is small
/// of its memory; what is as long as the vector it takes from the team's buffers. So an operation like an earlier one
/// allocates nothing.
#pragma once

#include <cstddef>
#include <memory>

#include "alg/call.h"
#include "trunk/lane_state.h"
#include "trunk/piece.h"
#include "util/params.h"

namespace nezha {

class Algorithm {
 public:
  explicit Algorithm(const TeamView& team) : team_(team) {}
  virtual ~Algorithm() = default;

  /// Sets up the dataflow and sends what is ready. The call's vectors stay until the operation is over.
  virtual void begin(const Call& call) = 0;
  /// How many bytes will come from that position at most.
  virtual std::size_t expected(int from, const Call& call) const = 0;
  /// Where a piece from that position goes; its header is untrusted.
  virtual Placement place(int from, const PieceHeader& piece) = 0;
  /// Its bytes are about to be written over what was sent from there before, as place() said.
  virtual void arriving(int from, const PieceHeader& piece) { static_cast<void>(from), static_cast<void>(piece); }
  /// The piece has arrived; its bytes are at `data` (for direct pieces: where place() said). False: it breaks the
  /// protocol.
  virtual bool arrived(int from, const PieceHeader& piece, const std::byte* data) = 0;
  /// Whether the operation waits for bytes of that position. True where that is not known.
  virtual bool awaits(int from) const { return static_cast<void>(from), true; }
  /// Wakes a call that sleeps (Call::asleep). Such a call sends nothing before; a piece of another member wakes it too.
  virtual void wake() {}
  virtual bool awake() const { return true; }
  /// Every element of the result is final here. Sends may still be under way.
  virtual bool complete() const = 0;
  /// The operation is over, or given up: no lane refers to its memory any more, so buffers are given back.
  virtual void end() {}

 protected:
  const TeamView& team() const { return team_; }

 private:
  const TeamView& team_;
};

/// The choice, or the ring if contributions that wait for their turn could take too much memory by the choice: more than
/// kMostMesh and more than twice the vector, where blocks as long as the largest wait, in a mesh one of each of `size` positions.
/// All ranks know all blocks' sizes, and so get the same.
AlgorithmChoice affordable(AlgorithmChoice choice, const Call& call, int size);

/// Null for a choice that is no algorithm of ours.
std::unique_ptr<Algorithm> make_algorithm(AlgorithmChoice choice, const TeamView& team);

std::unique_ptr<Algorithm> make_ring(const TeamView& team);
std::unique_ptr<Algorithm> make_mesh(const TeamView& team);
std::unique_ptr<Algorithm> make_single_step(const TeamView& team);
std::unique_ptr<Algorithm> make_doubling(const TeamView& team);
std::unique_ptr<Algorithm> make_halving(const TeamView& team);
/// Of calls through an aggregator, `team` being one member and the aggregator.
std::unique_ptr<Algorithm> make_star_leaf(const TeamView& team);
/// The aggregator's, in a tree a rack's: `team` is its members, in ring order where it has all, and, as the last, itself.
std::unique_ptr<Algorithm> make_star_center(const TeamView& team);
/// In a tree of aggregators: a rack's towards the upstream one, `team` being these two; and the upstream one's, whose members are
/// racks.
std::unique_ptr<Algorithm> make_star_climb(const TeamView& team);
std::unique_ptr<Algorithm> make_star_upstream(const TeamView& team);
/// The same of small vectors; a rack's climb and an upstream aggregator are as above.
std::unique_ptr<Algorithm> make_whole_leaf(const TeamView& team);
std::unique_ptr<Algorithm> make_whole_center(const TeamView& team);
/// Of barriers.
std::unique_ptr<Algorithm> make_dissemination(const TeamView& team);

}  // namespace nezha
