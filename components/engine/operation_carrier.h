// SPDX-License-Identifier: BSD-3-Clause
/// The carrier (util/carrier.h) of an algorithm over a TeamView: the range goes in segments, each an operation that
/// begins when its input is ready. Segments are alike on all members, so that each has the same number everywhere.
/// Guarded by the engine's lock.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/operations.h"
#include "util/carrier.h"
#include "util/clock.h"

namespace nezha {

/// Of a call that has no blocks of ranks, or of one that has: without these.
inline Call part_of(const Call& call, std::size_t begin, std::size_t end) {
  Call part = call;
  part.send = call.send == nullptr ? nullptr : call.send + begin;
  part.recv = call.recv == nullptr ? nullptr : call.recv + begin;
  part.count = (end - begin) / call.element;
  part.reducer.begin = call.reducer.begin + begin;
  return part;
}

class OperationCarrier {
 public:
  /// Of the vector.
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  /// `operations`: nothing else begins any there. `clock`: for took(); may be null. Both outlive this.
  OperationCarrier(Operations& operations, const Clock* clock) : operations_(operations), clock_(clock) {}

  /// `call`: of the whole vector, with a chunk for a segment and a root in the team of the operations. `segment`:
  /// bytes, whole elements. A reduce_scatter or an allgather has even blocks in each segment, and no counts; that of an allgather lies
  /// in its place in recv, the result of a reduce_scatter goes to recv, segment by segment.
  void begin(const Call& call, AlgorithmChoice choice, const Range& range, std::size_t segment);
  void supply(std::size_t up_to) { ready_ = up_to; }
  bool poll();
  std::size_t final_up_to() const { return final_; }
  bool over() const { return final_ == range_.end; }
  /// No segment is under way.
  bool idle() const { return count_ == 0; }
  /// The operations have failed: it ends without a result.
  void fail() { count_ = 0; }
  /// For how long segments were under way, over all calls.
  Nanoseconds took() const { return took_; }

 private:
  struct Segment {
    OpNumber number = 0;
    std::size_t end = 0;
  };

  Call part_of_call(std::size_t begin, std::size_t end);
  void set_blocks(Call& part, std::size_t begin);
  bool begin_segments();
  bool end_segments();

  Operations& operations_;
  const Clock* const clock_;
  Call call_;
  AlgorithmChoice choice_ = AlgorithmChoice::ring;
  Range range_;
  std::size_t segment_ = 0;
  std::size_t ready_ = 0, begun_ = 0, final_ = 0;  ///< up to there, in this order of size from right to left
  std::array<Segment, kMostUnderWay> under_way_;   ///< in turn
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::size_t> counts_;  ///< of the segment that begins
  Nanoseconds took_ = 0;
  Nanoseconds since_ = 0;  ///< when the first of those under way was begun; 0: none is
};

static_assert(Carrier<OperationCarrier>);

}  // namespace nezha
