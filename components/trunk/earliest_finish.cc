// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "trunk/preferred_lane.h"
#include "trunk/lane_limits.h"
#include "trunk/strategy.h"

namespace nezha {
namespace {

constexpr Nanoseconds kWorthWaiting = kMillisecond;  ///< for a lane that takes nothing just now

/// lag(), where it is more than the least piece takes: less is no reason to divide otherwise.
double lag_of_pieces(const LaneState& lane, Nanoseconds least_trip) {
  const double its_lag = lag(lane, least_trip);
  return its_lag * pace(lane) > static_cast<double>(least_piece(lane)) ? its_lag : 0;
}

/// Nanoseconds until everything now queued on the lane and its rail, and `more` bytes, have come, but for the least that they take on
/// any lane.
double finish(const LaneState& lane, double more, double lag) {
  const double alone = (static_cast<double>(lane.fill) + more) / pace(lane);
  return lag + std::max(alone, (static_cast<double>(lane.rail->fill) + more) / std::max(lane.rail->rate(), pace(lane)));
}

/// In how many nanoseconds what is queued, and what lanes hold, has come if all of them end together: those at least on which anything
/// comes as soon as that.
double common_finish(std::span<LaneState> lanes, RailSet rails, double queued, Nanoseconds least_trip) {
  double level = std::numeric_limits<double>::infinity();
  for (;;) {
    double rate = 0, bytes = queued;
    for (const LaneState& lane : lanes) {
      const double its_lag = lane.usable(rails) ? lag_of_pieces(lane, least_trip) : level;
      if (its_lag >= level) continue;
      rate += pace(lane);
      bytes += static_cast<double>(lane.fill) + its_lag * pace(lane);
    }
    if (bytes / rate >= level) return level;
    level = bytes / rate;
  }
}

/// Nothing has been on the lane for so many times what so many bytes are thought to take there.
bool rested(const LaneState& lane, double times, std::size_t bytes, Nanoseconds now) {
  return lane.fill == 0 && static_cast<double>(now - lane.handed_at) * pace(lane) > times * static_cast<double>(bytes);
}

/// A lane whose last word was that it crawls may be better by now, which shows only when it is used: one small piece for
/// so many times what that takes.
bool worth_a_try(const LaneState& lane, Nanoseconds now) { return rested(lane, 50, kSmall, now); }

/// A lane that was lost and is back earns its rate with what it carries, which must not only be what others leave over: a piece
/// for some times what that is thought to take. One that has become slow gets a piece more rarely, for it may be so for good.
bool may_earn(const LaneState& lane, const Waiting& waiting, Nanoseconds now) {
  if (!lane.rate.doubted() && !lane.rate.slowed()) return false;
  const std::size_t least = least_piece(lane);
  if (waiting.bytes <= least || waiting.whole > least || lane.lane->busy()) return false;
  return rested(lane, lane.rate.doubted() ? 4 : lane.rate.rest(), least, now);
}

/// Something small may go there at once. Several that leave together must not all wait for one rail: of what it held when that was last
/// seen, as much counts as gone as leaves in the time since. Nor must one wait for that of the call before, which the peer may answer
/// before a link that lets bursts through is free again: of what the lane itself was given, half as much counts as gone.
bool calm(LaneState& lane, Nanoseconds now) {
  look_at_fill(lane, now);
  const auto left = [&](std::size_t held, Nanoseconds since, double rate) {
    return static_cast<double>(held) - rate * static_cast<double>(now - since);
  };
  const double held = std::max(left(lane.rail->fill, lane.rail->changed(), pace(lane)), left(lane.fill, lane.handed_at, pace(lane) / 2));
  return held <= static_cast<double>(std::min(kSlight, least_piece(lane) / 4)) && !lane.lane->busy();
}

class EarliestFinish final : public Strategy {
 public:
  LaneChoice choose(std::span<LaneState> lanes, RailSet rails, const Waiting& waiting, Nanoseconds now) const override {
    const std::size_t queued = waiting.bytes;
    // What is small goes where the peer's comes from: it carries the kernel's acknowledgement of that, otherwise a packet of
    // its own and half as dear as receiving.
    if (queued <= kSmall)
      if (LaneState* lane = preferred_lane(lanes, rails, queued); lane != nullptr && queued <= least_piece(*lane) && calm(*lane, now))
        return {lane, queued};
    for (LaneState& lane : lanes)
      if (lane.usable(rails) && may_earn(lane, waiting, now)) return {&lane, std::min(queued, least_piece(lane))};
    LaneState* best = nullptr;
    double best_finish = std::numeric_limits<double>::infinity();
    double later_finish = best_finish;  // of a lane that will take more when it has handed over what it holds
    for (LaneState& lane : lanes)
      if (lane.usable(rails)) look_at_fill(lane, now);
    const Nanoseconds least_trip = least_round_trip(lanes, rails);
    const double level = common_finish(lanes, rails, static_cast<double>(queued), least_trip);
    const double unit = static_cast<double>(std::max(waiting.whole, std::min(queued, kSmall)));
    for (LaneState& lane : lanes) {
      if (!lane.usable(rails)) continue;
      const double its_lag = lag_of_pieces(lane, least_trip);
      if (its_lag >= level) continue;  // however long the others are waited for
      const double end = finish(lane, unit, its_lag);
      if (lane.lane->busy() || lane.fill >= fill_limit(lane)) {
        later_finish = std::min(later_finish, end);
      } else if (end < best_finish) {
        best = &lane;
        best_finish = end;
      }
    }
    if (best == nullptr) return {};
    // While there is much to do all lanes are kept filled: less for one that seems slow because it was given less, in queues
    // that it shares with others, would confirm that.
    if (best_finish > std::max(later_finish + static_cast<double>(kWorthWaiting), level))
      return worth_a_try(*best, now) ? LaneChoice{best, std::min(queued, kSmall)} : LaneChoice{};
    return {best, portion(*best, queued, level - lag_of_pieces(*best, least_trip))};
  }

 private:
  /// As much of what is queued as leaves the lane within `time` ns, for it to end with the others, in frames worth their cost.
  static std::size_t portion(const LaneState& lane, std::size_t queued, double time) {
    const std::size_t least = least_piece(lane);
    const double even = std::max(time * pace(lane) - static_cast<double>(lane.fill), 0.0);
    const std::size_t bytes = std::clamp(static_cast<std::size_t>(even), least, longest_piece(lane));
    return queued < bytes + least ? queued : bytes;
  }
};

}  // namespace

const Strategy& earliest_finish() {
  static const EarliestFinish strategy;
  return strategy;
}

}  // namespace nezha
