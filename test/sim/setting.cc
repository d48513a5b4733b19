// SPDX-License-Identifier: BSD-3-Clause
#include "setting.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace nezha::test {
namespace {

constexpr double kShares = 0.2;  ///< of the worlds have nodes whose ranks share memory
constexpr std::size_t kMostChunks = 512;  ///< of a vector: else some worlds take as long as hundreds of others
constexpr Nanoseconds kCalm = kSecond;  ///< what lasts longer may last from one storm of faults to the next

/// Between `low` and `high`, small ones as likely as large ones. By square roots, which are the same to the last bit on
/// every machine: with std::exp one seed would be different worlds on different processors.
double draw_scale(SimRandom& random, double low, double high) {
  constexpr int kHalvings = 30;
  double factor = high / low;
  double drawn = low;
  for (std::uint64_t bits = random.next() >> (64 - kHalvings), i = 0; i < kHalvings; ++i) {
    factor = std::sqrt(factor);
    if ((bits >> i & 1) != 0) drawn *= factor;
  }
  return drawn;
}

Nanoseconds draw_time(SimRandom& random, Nanoseconds low, Nanoseconds high) {
  return static_cast<Nanoseconds>(draw_scale(random, static_cast<double>(low), static_cast<double>(high)));
}

std::size_t draw_size(SimRandom& random, std::size_t low, std::size_t high) {
  return static_cast<std::size_t>(draw_scale(random, static_cast<double>(low), static_cast<double>(high)));
}

/// Small ones are used up often; whole powers of two often to the last byte.
std::size_t draw_window(SimRandom& random) {
  const std::size_t window =
      random.chance(0.5) ? draw_size(random, 1024, 16 * 1024) : draw_size(random, 16 * 1024, 256 * 1024);
  return random.chance(0.5) ? std::bit_floor(window) : window;
}

}  // namespace

Setting::Setting(std::uint64_t seed_, std::size_t calls, bool nodes_, bool rdma) : seed(seed_), random(seed_) {
  shape.ranks = 2 + static_cast<int>(random.below(random.chance(0.3) ? 8 : 4));
  if (SimRandom many(seed_ ^ 0x6d616e79); many.chance(0.06)) shape.ranks = 8 + static_cast<int>(many.below(13));
  SimRandom nodes_source(seed_ ^ 0x6e6f646573);
  const bool shares = nodes_source.chance(kShares) || nodes_;
  if (shares) shape.ranks = 3 + static_cast<int>(nodes_source.below(8));
  shape.threads = random.chance(0.5) ? 1 : 2 + static_cast<int>(random.below(3));
  shape.calls = calls;
  shape.repeats = random.chance(0.3);
  if (shape.repeats) shape.calls *= 3;
  shape.nonblocking = random.chance(0.4) ? 0 : random.chance(0.2) ? 0.97 : 0.5;
  if (random.chance(0.1)) shape.largest = 1024 * 1024;
  draw_network();
  draw_lateness();
  draw_config();
  draw_faults();
  draw_rails();
  draw_links();
  draw_crowd();
  draw_operations();
  draw_queues(rdma);
  if (shares) draw_shared_nodes(nodes_source);
}

void Setting::draw_network() {
  network.send_buffer = draw_size(random, 1500, 256 * 1024);
  network.receive_buffer = draw_size(random, 4000, 256 * 1024);
  network.segment = draw_size(random, 1500, 32 * 1024);
  network.stall = random.chance(0.5) ? 0.002 : 0;
  network.stall_time = draw_time(random, 100 * kMicrosecond, 100 * kMillisecond);
  network.refusal = random.chance(0.3) ? 0.3 : 0;
  network.short_write = random.chance(0.5) ? 0.3 : 0;
  network.short_read = random.chance(0.3) ? 0.3 : 0;
  network.duplicate = random.chance(0.3) ? 0.03 : 0;
  network.notice_max = draw_time(random, kMillisecond, 200 * kMillisecond);
  const std::size_t networks = 1 + random.below(4);
  const double rate = draw_scale(random, 0.005, 1.25);
  const Nanoseconds delay = draw_time(random, kMicrosecond, kMillisecond);
  const bool shared_nodes = random.chance(0.2);
  loopbacks = shared_nodes && random.chance(0.7);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    nodes.push_back("n" + std::to_string(shared_nodes ? random.below(3) : static_cast<std::uint64_t>(rank)));
    std::vector<SimPortOptions>& mine = ports.emplace_back();
    for (std::size_t i = 0; i < networks; ++i) {
      if (i != 0 && random.chance(0.1)) continue;
      SimPortOptions port;
      port.name = "sim" + std::to_string(i);
      port.network = static_cast<std::uint8_t>(i);
      port.rate = rate * (random.chance(0.5) ? 1 : draw_scale(random, 0.1, 1));
      port.delay = delay;
      port.jitter = random.chance(0.5) ? 0 : draw_time(random, kMicrosecond, 5 * kMillisecond);
      port.speed_mbps = random.chance(0.5) ? 0 : static_cast<std::uint32_t>(port.rate * 8000);
      mine.push_back(port);
    }
  }
}

/// Clocks have origins of their own. Some NICs come up after the processes.
void Setting::draw_lateness() {
  const bool some_late = random.chance(0.15);
  const Nanoseconds latest = some_late ? draw_time(random, kMillisecond, 20 * kSecond) : 0;
  for (const auto& mine : ports) {
    clocks.push_back(draw_time(random, 1, 1000000 * kSecond));
    late.emplace_back(mine.size(), 0);
    for (Nanoseconds& when : late.back())
      if (some_late && random.chance(0.3)) when = random.between(1, latest);
  }
}

/// Ranks of few nodes, which share memory. From a source of their own too.
void Setting::draw_shared_nodes(SimRandom& source) {
  sharing = draw_sharing(source, shape.ranks);
  shape.nodes = draw_nodes(source, shape.ranks);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank] = "n" + std::to_string(shape.nodes[rank]);
  loopbacks = source.chance(0.7);
  // Hardly anything goes over these lanes: without the NIC's word an end finds out in 10 s at the earliest, and storms come sooner.
  if (faults.recreation != 0 && queues.patience == 0) queues.patience = kSecond;
  if (faults.outage + faults.break_lane + faults.pause == 0) return;
  if (source.chance(0.3)) faults.pause = draw_time(source, 10 * kMillisecond, 200 * kMillisecond);
  if (!source.chance(0.2)) return;
  faults.death = draw_time(source, kMillisecond, 5 * kSecond);
  faults.stop = source.chance(0.7);
  config.timeout = 3 + static_cast<int>(source.below(5));
  faults.longest_pause = std::min(faults.longest_pause, kSecond);
  faults.jump = 0;
}

/// Some networks, or all, are for RDMA.
void Setting::draw_queues(bool wanted) {
  if (!random.chance(0.3) && !wanted) return;
  const std::size_t first = random.below(wanted ? ports.front().size() : 4);
  for (auto& mine : ports)
    for (SimPortOptions& port : mine) port.queues = port.network >= first;
  queues.latest = draw_time(random, kMicrosecond, 5 * kMillisecond);
  // Where there is nothing else, many ranks would otherwise hardly ever have a lane to each other one at once, before which no
  // team is ready.
  if (first == 0 && faults.outage != 0) faults.outage = std::max(faults.outage, shape.ranks * 2 * (kMillisecond + queues.latest));
  queues.put_off = random.chance(0.5) ? 0.2 : 0;
  queues.patience = random.chance(0.5) ? draw_time(random, 100 * kMillisecond, 2 * kSecond) : 0;
  messages.slot = draw_size(random, 1024, 32 * 1024);
  messages.lane_memory = draw_size(random, 8 * messages.slot, 512 * 1024);
  // By what was drawn, so that worlds of older seeds keep their shapes.
  messages.lend_from = messages.slot % 3 != 0 ? 16 + messages.slot % (16 * 1024) : 0;
  messages.least_lent = 1 + messages.lane_memory % (4 * 1024);
  queues.lends = 0.9;
  queues.shared = messages.lane_memory % 2 != 0 ? 8 + static_cast<std::uint32_t>(messages.lane_memory % 57) : 0;
}

bool Setting::has_queues() const {
  for (const auto& mine : ports)
    for (const SimPortOptions& port : mine)
      if (port.queues) return true;
  return false;
}

bool Setting::may_decline() const {
  const Nanoseconds patience = config.connect_timeout * kSecond / 2;
  for (const auto& mine : late)
    for (const Nanoseconds when : mine)
      if (when > patience) return true;
  if (faults.longest_silence > kCalm && (faults.silence != 0 || faults.silence_between != 0)) return true;
  if (sharing.lacks()) return true;  // within a node
  return faults.death != 0 || faults.jump != 0;  // a clock that jumps ahead ends the patience
}

void Setting::draw_config() {
  constexpr AlgorithmChoice kChoices[] = {AlgorithmChoice::automatic, AlgorithmChoice::ring,
                                          AlgorithmChoice::mesh,      AlgorithmChoice::single_step,
                                          AlgorithmChoice::doubling,  AlgorithmChoice::halving};
  config.algorithm = kChoices[random.below(std::size(kChoices))];
  config.reproducible = random.chance(0.3);
  config.learn = random.chance(0.5);
  config.small_max = draw_size(random, 16, 32 * 1024);
  config.mesh_block = draw_size(random, 64, 128 * 1024);
  config.chunk = random.chance(0.5) ? 0 : draw_size(random, 16, 64 * 1024);
  if (config.chunk != 0) shape.largest = std::min(shape.largest, kMostChunks * config.chunk);
  config.checksum = random.chance(0.2);
  config.threshold = 0;
  config.timeout = 30;
  config.connect_timeout = random.chance(0.5) ? 20 : 8;
  for (int rank = 0; rank < shape.ranks; ++rank) windows.push_back(draw_window(random));
  longest_thought = random.chance(0.3) ? 0 : draw_time(random, 10 * kMicrosecond, 100 * kMillisecond);
}

void Setting::draw_faults() {
  if (random.chance(0.25)) return;
  const auto maybe = [&](double chance, Nanoseconds low, Nanoseconds high) {
    return random.chance(chance) ? draw_time(random, low, high) : 0;
  };
  faults.outage = maybe(0.7, kMillisecond, 200 * kMillisecond);
  faults.longest_outage = draw_time(random, kMillisecond, 500 * kMillisecond);
  faults.break_lane = maybe(0.7, 200 * kMicrosecond, 20 * kMillisecond);
  faults.rate = maybe(0.3, kMillisecond, 100 * kMillisecond);
  faults.pause = maybe(0.3, 10 * kMillisecond, 200 * kMillisecond);
  faults.longest_pause = draw_time(random, 2 * kMillisecond, 5 * kSecond);
  faults.isolation = maybe(0.2, 20 * kMillisecond, 500 * kMillisecond);
  faults.crawl = maybe(0.5, 10 * kMillisecond, 200 * kMillisecond);
  faults.split = maybe(0.1, 50 * kMillisecond, 500 * kMillisecond);
  faults.recreation = maybe(0.2, 20 * kMillisecond, 500 * kMillisecond);
  faults.silence = maybe(0.4, 5 * kMillisecond, 200 * kMillisecond);
  faults.silence_between = maybe(0.3, 5 * kMillisecond, 200 * kMillisecond);
  faults.longest_silence = draw_time(random, kMillisecond, 3 * kSecond);
  faults.longest_linger = draw_time(random, kMillisecond, 500 * kMillisecond);
  faults.jump = maybe(0.2, 20 * kMillisecond, 500 * kMillisecond);
  faults.longest_jump = draw_time(random, kMillisecond, 100000 * kSecond);
  faults.lost_acks = random.chance(0.5);
  if (!random.chance(0.06) || shape.ranks == 2) return;
  faults.death = draw_time(random, kMillisecond, kSecond);
  config.timeout = 3 + static_cast<unsigned>(random.below(5));
  faults.longest_pause = std::min(faults.longest_pause, kSecond);
  faults.jump = 0;  // silence counts anew after each: with storms until the call returns, it would never last long enough
}

/// From a source of their own, so that all else is as the seed had it before there was a choice of rails.
void Setting::draw_rails() {
  SimRandom source(seed ^ 0x7261696c73);
  if (source.chance(0.4)) rails = static_cast<RailSet>(1 + source.below((std::uint64_t{1} << ports[0].size()) - 1));
}

/// Sometimes lanes only to those that an algorithm needs; and sometimes ranks do not know of the limit alike. From a
/// source of their own too.
void Setting::draw_links() {
  SimRandom source(seed ^ 0x6c696e6b73);
  if (source.chance(0.4)) return;
  const auto limit = [&] { return static_cast<int>(source.below(static_cast<std::uint64_t>(shape.ranks))); };
  mesh_peers.assign(static_cast<std::size_t>(shape.ranks), limit());
  if (!source.chance(0.3)) return;
  for (int& mine : mesh_peers) mine = limit();
}

/// Sometimes many threads, each with rings that expect too little to say by themselves that they have begun. One rank
/// comes late to all of them: together they use up its window before any of them is sent whole, and only its answers
/// help. From a source of their own too.
void Setting::draw_crowd() {
  SimRandom source(seed ^ 0x63726f7764);
  if (shape.ranks == 2 || !source.chance(0.1)) return;
  shape.threads = 16 + static_cast<int>(source.below(16));
  shape.calls *= 4;
  shape.repeats = false;
  config.algorithm = AlgorithmChoice::ring;
  const std::size_t window = draw_size(source, 700, 1024);
  std::fill(windows.begin(), windows.end(), window);
  shape.largest = window * 3 / 8;
  longest_thought = draw_time(source, kMillisecond, 100 * kMillisecond);
  thinker = static_cast<int>(source.below(static_cast<std::uint64_t>(shape.ranks)));
}

/// Sometimes the numbers of operations outgrow 32 bits on the way. From a source of their own too.
void Setting::draw_operations() {
  SimRandom source(seed ^ 0x6f7065726174);
  if (source.chance(0.2)) operations_before = (OpNumber{1} << 32) - 1 - source.below(shape.calls);
}

std::size_t Setting::add_service(SimRandom& source, int upstream) {
  std::vector<SimPortOptions>& service = services.emplace_back();
  for (const SimPortOptions& port : ports[0]) {
    service.push_back(port);
    service.back().rate *= draw_scale(source, 0.5, 8);
  }
  upstream_of.push_back(upstream);
  return services.size() - 1;
}

/// Each of them is one service or, where ranks are of one to three racks, a tree. Some racks follow the ring, others interleave.
void Setting::draw_aggregators(SimRandom& source) {
  const std::size_t count = source.chance(0.5) ? 1 : 2 + source.below(2);
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  for (std::size_t i = 0; i < count; ++i) {
    config.aggregators.entries.push_back({"simulated", static_cast<std::uint16_t>(i + 1)});
    const std::size_t first = add_service(source, -1);
    std::vector<std::size_t>& of_rank = aggregators.emplace_back(ranks, first);
    if (source.chance(0.5)) continue;
    const std::size_t racks = 1 + source.below(3);
    for (std::size_t rack = 0; rack < racks; ++rack) add_service(source, static_cast<int>(first));
    const bool in_order = source.chance(0.6);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      of_rank[rank] = first + 1 + (in_order ? rank * racks / ranks : source.below(racks));
  }
}

/// Services have no ports for RDMA, so that ranks that have only such ones would not reach them.
void Setting::add_services(bool shares) {
  if (!shares) {
    sharing = {};
    shape.nodes.clear();
  }
  for (std::vector<SimPortOptions>& rank : ports)
    for (SimPortOptions& port : rank) port.queues = false;
  SimRandom source(seed ^ 0x73657276696365);
  constexpr int kShares[] = {AggregatorShare::kAuto, 30, 60, 100};
  draw_aggregators(source);
  config.aggregator_share.per_cent = kShares[source.below(std::size(kShares))];
  config.algorithm = source.chance(0.5) ? AlgorithmChoice::ring : AlgorithmChoice::mesh;
  config.chunk = draw_size(source, 1024, 8 * 1024);
  // A call may begin late by one timeout, for a rank that its members have waited for in another team.
  config.timeout = shares && faults.death != 0 ? std::min(config.timeout, 5) : std::max(config.timeout, 10);
  shape.nonblocking = 0;
  shape.threads = 1;
  shape.largest = (shares ? 192 : 64) * config.chunk;  // more than twice what may be on its way through a service
  shape.large = config.aggregator_share.per_cent == 100 ? 0.25 : 0.7;  // then small vectors go whole
}

std::string Setting::text() const {
  return std::to_string(shape.ranks) + " ranks, " + std::to_string(shape.threads) + " threads, " +
         std::to_string(ports[0].size()) + " rails on rank 0" + (has_queues() ? ", RDMA" : "") + ", algorithm " +
         std::to_string(static_cast<int>(config.algorithm)) + ", rails " + std::to_string(rails) + ", chunk " +
         std::to_string(config.chunk) + ", window of rank 0 " + std::to_string(windows[0]) + ", send buffer " +
         std::to_string(network.send_buffer) + ", faults every " + std::to_string(faults.outage / kMicrosecond) + "/" +
         std::to_string(faults.break_lane / kMicrosecond) + "/" + std::to_string(faults.rate / kMicrosecond) + "/" +
         std::to_string(faults.pause / kMicrosecond) + "/" + std::to_string(faults.isolation / kMicrosecond) + "/" +
         std::to_string(faults.crawl / kMicrosecond) + "/" + std::to_string(faults.split / kMicrosecond) + "/" +
         std::to_string(faults.recreation / kMicrosecond) + "/" + std::to_string(faults.silence / kMicrosecond) + "/" +
         std::to_string(faults.silence_between / kMicrosecond) + "/" + std::to_string(faults.jump / kMicrosecond) +
         " us" + (faults.death == 0 ? "" : ", a death after " + std::to_string(faults.death / kMicrosecond) + " us") +
         sharing.text();
}

}  // namespace nezha::test
