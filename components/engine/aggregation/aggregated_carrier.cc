// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregated_carrier.h"

#include <algorithm>

#include "engine/combine.h"
#include "tuning/plan.h"

namespace nezha {

void AggregatedCarrier::begin(const Call& call, AlgorithmChoice choice, const Range& range, std::size_t segment) {
  call_ = call;
  choice_ = choice;
  range_ = range;
  segment_ = segment;
  ready_ = final_ = range.begin;
  aggregated_ = 0;
  went_through_ = false;
  if (stars_ == nullptr || !call.star.share || range.begin == range.end) return begin_rails();
  own_ = part_of(call, range.begin, range.end);
  own_.star.segment = segment;
  if (stars_->agreement_due()) {
    stars_->vote(links_->linked());
    return say(Stage::agreeing, stars_->words(), NEZHA_BOR);
  }
  stars_->in() ? begin_both() : begin_rails();
}

void AggregatedCarrier::say(Stage stage, std::span<std::uint64_t> words, nezha_op_t op) {
  stage_ = stage;
  words_ = operations_.start(combine(words, op), fewest_steps(operations_.view().size));
}

void AggregatedCarrier::begin_rails() {
  stage_ = Stage::by_rails;
  rails_.begin(call_, choice_, range_, segment_);
  rails_.supply(ready_);
}

void AggregatedCarrier::begin_both() {
  stage_ = Stage::both;
  stars_->begin(own_, clock_->now(), ready_ - range_.begin);
  Call rest = call_;
  rest.part = stars_->rest();
  const bool all = rest.part.to == 0;
  rails_.begin(rest, choice_, all ? Range{range_.end, range_.end} : range_, segment_);
  rails_.supply(ready_);
}

void AggregatedCarrier::supply(std::size_t up_to) {
  ready_ = std::max(ready_, up_to);
  if (stage_ == Stage::by_rails || stage_ == Stage::both) rails_.supply(ready_);
  if (stage_ == Stage::both) stars_->supply(ready_ - range_.begin);
}

bool AggregatedCarrier::poll() {
  switch (stage_) {
    case Stage::by_rails:
      return rails_.poll();
    case Stage::agreeing:
      if (!operations_.finished(words_)) return false;
      links_->join();
      stars_->in() ? begin_both() : begin_rails();
      return true;
    case Stage::both:
      return poll_both();
    case Stage::confirming:
      if (!operations_.finished(words_)) return false;
      aggregated_ = stars_->accept(own_);
      unsummed_ = links_->leave(own_);
      went_through_ = unsummed_.empty();
      carry_again();
      return true;
    case Stage::again:
      if (!rails_.poll()) return false;
      if (!rails_.over()) return true;
      unsummed_.back().deliver(own_);
      unsummed_.pop_back();
      carry_again();
      return true;
    case Stage::over:
      break;
  }
  return false;
}

/// Who has begun another operation than the last segment's does not wait for sums any more.
bool AggregatedCarrier::poll_both() {
  bool moved = rails_.poll();
  const bool settled = stars_->settled(clock_->now(), rails_.over() && operations_.overtaken());
  const std::size_t final = std::min(rails_.final_up_to(), range_.begin + std::min(stars_->final_up_to(), own_.bytes()));
  moved = moved || final != final_;
  final_ = final;
  // Contributions that are to be carried again have to be there.
  if (!settled || !rails_.over() || ready_ != range_.end) return moved;
  say(Stage::confirming, stars_->confirmation(clock_->now()), NEZHA_MAX);
  return true;
}

void AggregatedCarrier::carry_again() {
  stage_ = unsummed_.empty() ? Stage::over : Stage::again;
  if (unsummed_.empty()) return;
  rails_.begin(unsummed_.back().again(own_), choice_, {0, own_.bytes()}, segment_);
  rails_.supply(own_.bytes());
}

std::size_t AggregatedCarrier::final_up_to() const {
  if (stage_ == Stage::by_rails) return rails_.final_up_to();
  return stage_ == Stage::over ? range_.end : final_;
}

bool AggregatedCarrier::idle() const {
  if (stage_ == Stage::by_rails) return rails_.idle();
  return stage_ == Stage::over || (stage_ == Stage::both && rails_.idle() && !stars_->under_way());
}

void AggregatedCarrier::fail() {
  rails_.fail();
  unsummed_.clear();
  stage_ = Stage::over;
}

}  // namespace nezha
