// SPDX-License-Identifier: BSD-3-Clause
#include "faults.h"

#include <algorithm>

#include "world.h"

namespace nezha::test {
namespace {

/// Faults come in storms, so that what needs a while without any is done before patience ends.
constexpr Nanoseconds kStorm = 500 * kMillisecond;
constexpr Nanoseconds kStormEvery = 2 * kSecond;
constexpr Nanoseconds kShortPause = 300 * kMillisecond;
constexpr Nanoseconds kLastAcks = 20 * kMillisecond;
constexpr Nanoseconds kLongestCrawl = 200 * kMillisecond;
constexpr Nanoseconds kLongestSegment = 20 * kMillisecond;  ///< how long a segment takes then
constexpr double kSlowest = 1e-3, kFastest = 1.25;  ///< bytes per nanosecond

std::string of(const Process& process) { return " of rank " + std::to_string(process.rank()); }

}  // namespace

void Faults::begin() {
  const FaultRates& means = world_.setting().faults;
  schedule(means.outage, &Faults::outage);
  schedule(means.partition, &Faults::partition);
  schedule(means.break_lane, &Faults::break_lane);
  schedule(means.rate, &Faults::rate);
  schedule(means.crawl, &Faults::crawl);
  schedule(means.pause, &Faults::pause);
}

void Faults::end() {
  over_ = true;
  for (int rank = 0; rank < world_.setting().shape.ranks; ++rank) {
    SimTransport& transport = world_.process(rank).transport();
    for (std::size_t i = 0; i < transport.rails().size(); ++i) transport.set_up(i, true);
  }
  if (world_.setting().faults.break_lane == 0) return;
  for (int i = 0; i < 2 * world_.setting().shape.ranks; ++i)
    world_.network().after(random_.between(1, kLastAcks), [this] { happen(&Faults::break_lane); });
}

void Faults::schedule(Nanoseconds mean, Kind kind) {
  if (mean == 0) return;
  world_.network().after(random_.between(1, 2 * mean), [this, mean, kind] {
    if (over_) return;
    if ((world_.network().now() - kSecond) % kStormEvery < kStorm) happen(kind);
    schedule(mean, kind);
  });
}

void Faults::happen(Kind kind) {
  if (happened_ == most_) return;
  ++happened_;
  const std::string what = (this->*kind)();
  world_.talk("fault " + std::to_string(happened_) + ": " + what);
}

std::string Faults::outage() {
  Process& process = any_process();
  SimTransport& transport = process.transport();
  const std::size_t port = random_.below(transport.rails().size());
  transport.set_up(port, false);
  world_.network().after(random_.between(1, world_.setting().faults.longest_outage),
                         [&transport, port] { transport.set_up(port, true); });
  return "outage of rail " + std::to_string(port) + of(process);
}

/// All rails of a process at once.
std::string Faults::partition() {
  Process& process = any_process();
  SimTransport& transport = process.transport();
  const auto all = [&transport](bool up) {
    for (std::size_t i = 0; i < transport.rails().size(); ++i) transport.set_up(i, up);
  };
  all(false);
  world_.network().after(random_.between(1, world_.setting().faults.longest_outage), [all] { all(true); });
  return "all rails" + of(process) + " are gone";
}

std::string Faults::break_lane() {
  Process& process = any_process();
  SimTransport& transport = process.transport();
  const std::size_t lanes = transport.lanes();
  if (lanes == 0) return "none";
  std::size_t which = random_.below(lanes);
  if (random_.chance(0.7))  // the one with most under way, if any
    for (std::size_t i = 0; i < lanes; ++i)
      if (transport.fill(i) > transport.fill(which)) which = i;
  const bool linger = random_.chance(0.7);
  transport.break_lane(which, linger);
  return std::string("a lane") + of(process) + " breaks" + (linger ? ", its kernel goes on" : "");
}

std::string Faults::rate() {
  SimPort& port = any_port();
  port.set_rate(std::clamp(port.options().rate * (0.1 + 2 * random_.real()), kSlowest, kFastest));
  return "rate " + std::to_string(port.options().rate);
}

/// A port hardly moves for a while: what is half-way through it stays there.
std::string Faults::crawl() {
  SimPort& port = any_port();
  if (!crawling_.insert(&port).second) return "none";
  const double before = port.options().rate;
  const auto segment = static_cast<double>(world_.setting().network.segment);
  port.set_rate(std::min(before, segment / static_cast<double>(random_.between(kMillisecond, kLongestSegment))));
  world_.network().after(random_.between(1, kLongestCrawl), [this, &port, before] {
    crawling_.erase(&port);
    port.set_rate(before);
  });
  return "a port crawls";
}

std::string Faults::pause() {
  Process& process = any_process();
  const Nanoseconds now = world_.network().now();
  const bool is_long = now > next_long_pause_ && random_.chance(0.1);
  const Nanoseconds longest = is_long ? world_.setting().faults.longest_pause : kShortPause;
  const Nanoseconds time = random_.between(kMillisecond, longest);
  if (is_long) next_long_pause_ = now + time + kStormEvery;
  process.pause(now + time);
  return "pause" + of(process);
}

Process& Faults::any_process() {
  return world_.process(static_cast<int>(random_.below(static_cast<std::uint64_t>(world_.setting().shape.ranks))));
}

SimPort& Faults::any_port() {
  const std::vector<SimPort*> ports = world_.ports(any_process().rank());
  return *ports[random_.below(ports.size())];
}

}  // namespace nezha::test
