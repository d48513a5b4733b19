// SPDX-License-Identifier: BSD-3-Clause
/// The carrier (util/carrier.h) between the nodes of a team: an algorithm over rails, and beside it, where the counterparts have
/// joined aggregators, a part of each block of each segment through these. Only counterparts take part in what they agree on, so
/// that all of these, and nobody else, know the same. Guarded by the engine's lock.
///
///   agree --> both ways at once --> a word of all on whether they have all sums --> over
///                                                       \-- one lacks some: that part over the rails --/
///
/// Sums go on to the next carrier as they come, before that word: contributions are kept, and are added up in the same order over
/// the rails, so that who lacks sums gets the same bits. Who has them all takes part again and keeps what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/aggregation/stars.h"
#include "engine/operation_carrier.h"
#include "util/clock.h"

namespace nezha {

/// What a team's aggregators need of the process (core.h).
class StarLinks {
 public:
  virtual ~StarLinks() = default;
  virtual std::vector<Peer*> linked() = 0;
  /// The members have combined what they reach.
  virtual void join() = 0;
  /// They have combined what they lack of that call.
  virtual std::vector<Unsummed> leave(const Call& call) = 0;
};

class AggregatedCarrier {
 public:
  using Range = OperationCarrier::Range;

  /// See OperationCarrier.
  AggregatedCarrier(Operations& operations, const Clock* clock)
      : operations_(operations), clock_(clock), rails_(operations, clock) {}

  /// From the next call on. `stars`: of the counterparts. Both outlive this; there is a clock.
  void use(Stars& stars, StarLinks& links) { stars_ = &stars, links_ = &links; }

  /// As an OperationCarrier's. `call.star`: of what type it is, and its share; none: it goes over the rails.
  void begin(const Call& call, AlgorithmChoice choice, const Range& range, std::size_t segment);
  void supply(std::size_t up_to);
  bool poll();
  std::size_t final_up_to() const;
  bool over() const { return stage_ == Stage::over || (stage_ == Stage::by_rails && rails_.over()); }
  /// Nothing is under way between nodes.
  bool idle() const;
  /// The operations have failed: it ends without a result.
  void fail();
  /// For how long segments were under way over the rails, over all calls.
  Nanoseconds took() const { return rails_.took(); }
  /// The latest call went through aggregators, as far as it was to.
  bool went_through() const { return went_through_; }
  /// Bytes of the latest call that went through aggregators.
  std::size_t aggregated() const { return aggregated_; }

 private:
  enum class Stage { by_rails, agreeing, both, confirming, again, over };

  void say(Stage stage, std::span<std::uint64_t> words, nezha_op_t op);
  void begin_rails();
  void begin_both();
  bool poll_both();
  void carry_again();

  Operations& operations_;
  const Clock* const clock_;
  OperationCarrier rails_;
  Stars* stars_ = nullptr;  ///< null: nothing goes through aggregators
  StarLinks* links_ = nullptr;

  // The call.
  Stage stage_ = Stage::by_rails;
  Call call_;  ///< of the whole vector
  Call own_;   ///< of the range alone
  AlgorithmChoice choice_ = AlgorithmChoice::ring;
  Range range_;
  std::size_t segment_ = 0;
  std::size_t ready_ = 0, final_ = 0;  ///< of the vector; final_: of both ways
  OpNumber words_ = 0;                 ///< the operation that combines them
  std::vector<Unsummed> unsummed_;     ///< the last one is being carried
  std::size_t aggregated_ = 0;
  bool went_through_ = false;
};

static_assert(Carrier<AggregatedCarrier>);

}  // namespace nezha
