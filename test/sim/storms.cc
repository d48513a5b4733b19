// SPDX-License-Identifier: BSD-3-Clause
#include "storms.h"

#include <algorithm>

#include "world.h"

namespace nezha::test {
namespace {

/// Faults come in storms, and after a few of them none for longer than any lasts, so that what needs a while without any is
/// done before patience ends.
constexpr Nanoseconds kStorm = 500 * kMillisecond;
constexpr Nanoseconds kStormEvery = 2 * kSecond;
constexpr Nanoseconds kStormy = 5 * kSecond;
constexpr Nanoseconds kSeason = 10 * kSecond;
constexpr Nanoseconds kShortPause = 300 * kMillisecond;
constexpr Nanoseconds kLastAcks = 20 * kMillisecond;
constexpr Nanoseconds kLongestCrawl = 200 * kMillisecond;
constexpr Nanoseconds kLongestSegment = 20 * kMillisecond;  ///< how long a segment takes then
constexpr double kSlowest = 1e-3, kFastest = 1.25;  ///< bytes per nanosecond
constexpr double kAckLost = 0.3;

}  // namespace

void Storms::begin() {
  const FaultRates& means = world_.setting().faults;
  schedule(means.outage, &Storms::outage);
  schedule(means.isolation, &Storms::isolation);
  schedule(means.silence, &Storms::silence);
  schedule(means.silence_between, &Storms::silence_between);
  schedule(means.split, &Storms::split);
  schedule(means.recreation, &Storms::recreation);
  schedule(means.break_lane, &Storms::break_lane);
  schedule(means.break_lane, &Storms::break_pair);
  schedule(means.rate, &Storms::rate);
  schedule(means.crawl, &Storms::crawl);
  schedule(means.pause, &Storms::pause);
  schedule(means.jump, &Storms::jump);
  if (means.death != 0) world_.network().after(means.death, [this] { happen(&Storms::death); });
}

void Storms::end() {
  over_ = true;
  world_.faults().heal();
  if (world_.setting().faults.break_lane == 0) return;
  for (int i = 0; i < 2 * world_.setting().shape.ranks; ++i)
    world_.network().after(random_.between(1, kLastAcks), [this] { happen(&Storms::break_lane); });
  last_acks_ = 4 * static_cast<std::size_t>(world_.setting().shape.ranks);
}

void Storms::schedule(Nanoseconds mean, Kind kind) {
  if (mean == 0) return;
  world_.network().after(random_.between(1, 2 * mean), [this, mean, kind] {
    if (over_) return;
    if (stormy()) happen(kind);
    schedule(mean, kind);
  });
}

bool Storms::stormy() const {
  const Nanoseconds time = (world_.network().now() - kSecond) % kSeason;
  return time < kStormy && time % kStormEvery < kStorm;
}

void Storms::happen(Kind kind) {
  if (happened_ == most_) return;
  ++happened_;
  tell((this->*kind)());
}

void Storms::tell(const std::string& what) const {
  world_.talk("fault " + std::to_string(happened_) + ": " + what);
}

void Storms::ack_sent(int from, int to) {
  if (world_.setting().faults.lost_acks == false || happened_ == most_) return;
  if (over_ ? last_acks_ == 0 : !stormy()) return;
  if (!random_.chance(kAckLost)) return;
  ++happened_;
  if (over_) --last_acks_;
  const Nanoseconds soon = random_.between(0, world_.ports(from)[0]->options().delay);
  world_.network().after(soon, [this, from, to] { break_under_way(from, to); });
}

void Storms::break_under_way(int from, int to) {
  if (!world_.process(from).alive()) return;
  SimTransport& transport = world_.process(from).transport();
  for (std::size_t i = 0; i < transport.lanes(); ++i)
    if (transport.to(i, world_.process(to).id()) && transport.fill(i) != 0)
      return tell(world_.faults().break_lane(from, i, false, 0) + " under an ack");
}

std::string Storms::outage() {
  const int rank = any_rank();
  const std::size_t port = any_port(rank);
  return world_.faults().outage(rank, port, upto(world_.setting().faults.longest_outage));
}

std::string Storms::isolation() {
  return world_.faults().isolation(any_rank(), upto(world_.setting().faults.longest_outage));
}

std::string Storms::silence() {
  const int rank = any_rank();
  const std::size_t port = any_port(rank);
  return world_.faults().silence(rank, port, any_way(), upto(world_.setting().faults.longest_silence));
}

std::string Storms::silence_between() {
  const int from = any_rank();
  const int to = any_rank();
  const std::size_t port = any_port(from);
  const Way way = any_way();
  return world_.faults().silence_between(from, to, port, way, upto(world_.setting().faults.longest_silence));
}

std::string Storms::split() {
  std::vector<bool> group(static_cast<std::size_t>(world_.setting().shape.ranks));
  for (std::size_t rank = 0; rank < group.size(); ++rank) group[rank] = random_.chance(0.5);
  return world_.faults().split(group, upto(world_.setting().faults.longest_outage));
}

std::string Storms::recreation() {
  const int rank = any_rank();
  const std::size_t port = any_port(rank);
  return world_.faults().recreation(rank, port, upto(world_.setting().faults.longest_outage));
}

std::string Storms::break_lane() {
  const int rank = any_rank();
  const SimTransport& transport = world_.process(rank).transport();
  const std::size_t lanes = transport.lanes();
  if (lanes == 0) return "none";
  std::size_t which = random_.below(lanes);
  if (random_.chance(0.7))  // the one with most under way, if any
    for (std::size_t i = 0; i < lanes; ++i)
      if (transport.fill(i) > transport.fill(which)) which = i;
  const bool linger = random_.chance(0.7);
  return world_.faults().break_lane(rank, which, linger, random_.between(0, world_.setting().faults.longest_linger));
}

std::string Storms::break_pair() {
  const int rank = any_rank();
  const SimQueueKind* queues = world_.process(rank).queues();
  if (queues == nullptr || queues->pairs() == 0) return "none";
  return world_.faults().break_pair(rank, random_.below(queues->pairs()));
}

std::string Storms::rate() {
  const int rank = any_rank();
  const std::size_t port = any_port(rank);
  const double before = world_.ports(rank)[port]->options().rate;
  return world_.faults().rate(rank, port, std::clamp(before * (0.1 + 2 * random_.real()), kSlowest, kFastest));
}

std::string Storms::crawl() {
  const int rank = any_rank();
  const std::size_t port = any_port(rank);
  const auto segment = static_cast<double>(world_.setting().network.segment);
  const double rate = segment / static_cast<double>(random_.between(kMillisecond, kLongestSegment));
  return world_.faults().crawl(rank, port, rate, upto(kLongestCrawl));
}

std::string Storms::pause() {
  const int rank = any_rank();
  const Nanoseconds now = world_.network().now();
  const bool is_long = now > next_long_pause_ && random_.chance(0.1);
  const Nanoseconds longest = is_long ? world_.setting().faults.longest_pause : kShortPause;
  const Nanoseconds time = random_.between(kMillisecond, std::max(longest, kMillisecond));
  if (is_long) next_long_pause_ = now + time + kStormEvery;
  return world_.faults().pause(rank, time);
}

std::string Storms::jump() { return world_.faults().jump(any_rank(), upto(world_.setting().faults.longest_jump)); }

std::string Storms::death() {
  const int rank = any_rank();
  const Setting& setting = world_.setting();
  if (!setting.sharing.any) return world_.faults().death(rank, random_.chance(0.5));
  if (!setting.faults.stop) return world_.faults().death(rank, false);
  const std::string& node = setting.nodes[static_cast<std::size_t>(rank)];
  const bool others = std::any_of(setting.nodes.begin(), setting.nodes.end(), [&](const std::string& n) { return n != node; });
  return others && random_.chance(0.3) ? world_.faults().death_of_node(rank) : world_.faults().stop(rank);
}

/// Of those that live.
int Storms::any_rank() {
  for (;;) {
    const auto ranks = static_cast<std::uint64_t>(world_.setting().shape.ranks);
    if (const int rank = static_cast<int>(random_.below(ranks)); world_.process(rank).alive()) return rank;
  }
}

std::size_t Storms::any_port(int rank) { return random_.below(world_.ports(rank).size()); }

Way Storms::any_way() { return static_cast<Way>(random_.below(3)); }

}  // namespace nezha::test
