// SPDX-License-Identifier: BSD-3-Clause
/// One collective of a team under way: its number, its vector, what it sends to each neighbour, and its algorithm. Kept and
/// used again by operations.h, so that an operation like an earlier one allocates nothing. Guarded by the engine's lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "alg/algorithm.h"
#include "util/params.h"

namespace nezha {

class Operation {
 public:
  /// `team`: its flows are not used. `team_ended`: up to which operation the team has ended. Both outlive this.
  Operation(const TeamView& team, const OpNumber& team_ended);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// The next one to be carried. Its vectors stay until it is over. `choice` does not count for a barrier or a star.
  void prepare(TeamId team, OpNumber number, const Call& call, AlgorithmChoice choice);
  /// Sends what is ready, and takes what has come. `begun`: whether the neighbour of a number is known to have begun it.
  template <typename Begun>
  void begin(const Begun& begun) {
    for (std::size_t to = 0; to < flows_.size(); ++to) {
      if (begun(to)) peer_began(to);
      trunk(to).tell_begun(flows_[to], algorithm_->expected(view_.neighbours[to], call_));
    }
    algorithm_->begin(call_);
  }

  OpNumber number() const { return number_; }
  std::size_t bytes() const { return call_.bytes(); }
  Algorithm& algorithm() const { return *algorithm_; }

  void peer_began(std::size_t neighbour) { trunk(neighbour).began(flows_[neighbour]); }
  /// Goes on towards its end; true when the result is final and nothing refers to the caller's memory.
  bool ended() { return algorithm_->complete() && flows_closed(); }
  /// Bytes of that neighbour are missing, or, where all have come, its acknowledgements.
  bool awaits(std::size_t neighbour) const;
  /// Ends it without a result. Adds up, by neighbour, what Trunk::abort_flow() returns.
  void abort(std::vector<std::size_t>& charged);
  /// The same once all members have begun it and nobody needs anything of it.
  void drop();
  /// Lanes, or the trunks' own memory, have all that was to be sent.
  bool handed_over() const {
    return std::all_of(flows_.begin(), flows_.end(), [](const Flow& flow) { return flow.empty() && flow.unacked == 0; });
  }

 private:
  bool flows_closed();
  Algorithm& algorithm_for(const Call& call, AlgorithmChoice choice);
  Trunk& trunk(std::size_t neighbour) const { return *view_.trunks[neighbour]; }

  std::vector<Flow> flows_;  ///< by neighbour
  TeamView view_;
  std::array<std::unique_ptr<Algorithm>, 5> algorithms_;
  std::unique_ptr<Algorithm> barrier_;
  std::unique_ptr<Algorithm> star_, whole_;
  Algorithm* algorithm_ = nullptr;
  OpNumber number_ = 0;
  Call call_;
  bool needs_all_ = true;  ///< its result here needs something of every member
};

}  // namespace nezha
