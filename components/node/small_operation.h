// SPDX-License-Identifier: BSD-3-Clause
/// Vectors of up to small_limit() bytes: each member writes its vector into its slot, waits for one flag of each other
/// member, and folds all vectors itself; there is no second phase. With a stage between nodes the carriers fold their
/// parts and put the results into slots of the same kind. In a broadcast the other members write a flag and no vector.
///
/// Each member has two slots that take turns. A member writes the slot of operation n, to announce it, only after all
/// others have announced n - 1, and so have finished n - 2 and the reading of this slot.
#pragma once

#include "node/node_operation.h"

namespace nezha {

class SmallOperation final : public NodeOperation {
 public:
  using NodeOperation::NodeOperation;

  /// The largest vector of such calls, bytes: alike on all members of the node.
  static std::size_t small_limit(const NodeCall& call, std::uint32_t members) {
    return call.folds() ? NodeLayout::small_limit(members, !call.carriers.empty()) : kNodeSmall;
  }

  void begin(const NodeCall& call) override;
  bool poll() override;
  std::size_t reduced_up_to() const override { return reduced_ ? part_.end : part_.begin; }
  void supply(std::size_t up_to) override;
  std::size_t final_up_to() const override { return final_ ? call_.bytes : 0; }
  bool over() override { return final_; }
  bool has_done(std::uint32_t member) override;

 private:
  bool alone() const { return call_.carriers.empty(); }
  bool folds_here() const { return call_.folds() && (alone() || part_.size() != 0); }
  /// It has a result for others.
  bool supplies() const { return !call_.hands_out() && call_.to != kNoMember && !alone() && part_.size() != 0; }
  bool announce();
  void wake_if_last();
  bool all_contributed();
  void contribute(NodeSmallSlot& slot);
  void fold(const NodeRange& range);
  void collect(const NodeRange& range);
  bool take_results();
  bool take_from(std::uint32_t member);
  void note_done();
  bool right_size(std::uint32_t member, std::uint64_t bytes);

  NodeCall call_;
  std::uint64_t operations_ = 0;  ///< begun
  bool announced_ = true;         ///< the latest of them
  bool met_ = true;               ///< all members have announced the one before it
  NodeRange part_;                ///< to fold here
  std::uint32_t seen_ = 0;        ///< members whose vectors are there
  std::size_t results_ = 0;       ///< carriers whose results were taken
  bool reduced_ = false, supplied_ = false, final_ = true;
};

}  // namespace nezha
