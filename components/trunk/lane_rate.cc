// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/lane_rate.h"

#include <algorithm>

namespace nezha {
namespace {

/// A shaped link lets so much through at any speed after it was idle, and a switch's buffer does likewise; a slow one has by
/// that time.
constexpr std::size_t kBurst = 192 * 1024;
constexpr Nanoseconds kBurstTime = 20 * kMillisecond;
/// With less the lane may have been idle, or waits for an answer and not for its link.
constexpr std::size_t kQueued = 8 * 1024;
/// A measurement lasts so long, or less where so much has left. Answers come for up to 64 KiB at a time: one of which not even two
/// have come lasts twice as long. So do the first ones, which count for long, where messages are too small to measure a lane with.
constexpr Nanoseconds kSpan = 4 * kMillisecond;
constexpr std::size_t kMuch = 512 * 1024;
constexpr std::size_t kTwoAnswers = 128 * 1024;
constexpr unsigned kLonger = 2;
constexpr std::size_t kLeast = 8 * 1024;  ///< of a slow lane too
/// Near the highest that was seen lately, as BBR does: a queue kept too short because of too low a rate would confirm that.
constexpr double kUp = 1.25;
constexpr double kDown = 0.9;
/// What passes in a burst can only be too fast. A lane that is so much slower all the same is slow.
constexpr double kSlow = 0.5;
constexpr double kEarned = 1.1;  ///< each time
constexpr Nanoseconds kEarnEvery = kMillisecond;
constexpr double kProbation = 8;
/// Measurements that come so often need no other evidence, which is coarse.
constexpr Nanoseconds kOften = 50 * kMillisecond;
constexpr double kRemembered = 0.99;  ///< of the best rate, each time that one is measured

}  // namespace

bool LaneRate::looked(Nanoseconds now, std::size_t left, std::size_t queued) {
  if (left != 0) earn(now);
  if (queued < kQueued) {
    idle();
    return false;
  }
  if (left == 0) return false;  // measurements begin and end with an answer
  if (begun_ == 0) {
    begun_ = since_ = now;  // how long the first one takes is not the lane's rate
    return false;
  }
  passed_ += left;
  left_ += left;
  const bool flowed = flows_;
  flows_ = flowed || passed_ >= kBurst || now - begun_ >= kBurstTime;
  const bool over = flows_ == flowed && long_enough(now - since_);
  if (over) {
    measured_at_ = now;
    follow(static_cast<double>(left_) / static_cast<double>(now - since_), !flowed);
  }
  if (over || flows_ != flowed) {
    since_ = now;
    left_ = 0;
  }
  return over && sure();
}

bool LaneRate::measures(Nanoseconds now) const { return measured_at_ != 0 && now - measured_at_ < kOften; }

bool LaneRate::long_enough(Nanoseconds span) const {
  const unsigned times = sure() && left_ >= kTwoAnswers ? 1 : kLonger;
  return left_ >= kMuch * times || (span >= kSpan * times && left_ >= kLeast);
}

void LaneRate::follow(double seen, bool burst) {
  if (!sure() && burst) return;
  if (!sure())
    rate_ = std::max(rate_, seen);
  else if (seen >= rate_ && !burst)
    rate_ = std::min(seen, kUp * rate_);
  else if (seen < (burst ? kSlow : 1) * rate_)
    rate_ = std::max(seen, kDown * rate_);
  measured_ = std::min(measured_ + 1, kEnough);
  before_ = std::min(before_, std::max(seen, rate_));
  best_ = std::max(kRemembered * best_, rate_);
}

/// What is sent at a time may be too little to measure it again.
void LaneRate::earn(Nanoseconds now) {
  if (rate_ >= before_ || now - earned_ < kEarnEvery) return;
  rate_ = std::min(before_, kEarned * rate_);
  earned_ = now;
}

void LaneRate::idle() {
  begun_ = 0;
  passed_ = left_ = 0;
  flows_ = false;
}

void LaneRate::late(Nanoseconds now, double pace) {
  if (measures(now)) return;
  if (!sure()) {
    rate_ = best_ = pace;
    measured_ = kEnough;
  }
  rate_ /= 2;
  before_ = rate_;
  rest_ = std::min(2 * rest_, kMostRest);
}

void LaneRate::in_time(Nanoseconds now) {
  if (!slowed() || measures(now) || now - earned_ < kEarnEvery) return;
  rate_ *= kEarned;
  rest_ = std::max(rest_ / 2, kRest);
  earned_ = now;
}

void LaneRate::doubt() {
  before_ = std::max(before_, rate_);
  rate_ = std::min(rate_, before_ / kProbation);  // no less if it goes again before it could earn anything
  idle();
}

}  // namespace nezha
