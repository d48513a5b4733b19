// SPDX-License-Identifier: BSD-3-Clause
#include "service.h"

#include <utility>

#include "world.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kPatience = 2 * kMillisecond;
constexpr Nanoseconds kStepEvery = kMillisecond;
constexpr Nanoseconds kIdle = 50 * kMillisecond;
constexpr Nanoseconds kOften = 200 * kMillisecond, kSeldom = 4 * kSecond;  ///< between two misfortunes, in the mean
constexpr Nanoseconds kLongest = 1500 * kMillisecond;

}  // namespace

Service::Service(World& world, std::size_t index, std::uint64_t seed, bool unlucky)
    : world_(world),
      index_(index),
      random_(seed),
      between_(random_.chance(0.3) ? kOften : kSeldom),
      clock_(world.network(), random_.between(1, 1000 * kSecond)),
      waker_(world.network(), [this] { look(); }) {
  for (const SimPortOptions& port : world.setting().services[index]) ports_.push_back(std::make_unique<SimPort>(world.network(), port));
  start();
  if (unlucky) world_.network().after(random_.between(1, 2 * between_), [this] { misfortune(); });
}

Service::~Service() = default;

bool Service::in_rack() const { return world_.setting().upstream_of[index_] >= 0; }

void Service::start() {
  const auto ranks = static_cast<ProcessId>(world_.setting().shape.ranks);
  const ProcessId id = ranks + 1 + ++lives_ * world_.setting().services.size() + index_;
  Config config;
  config.window = 256 * 1024;
  core_ = std::make_unique<Core>(config, clock_, world_.log(static_cast<int>(ranks)), kNoRank, "service" + std::to_string(index_), id,
                                 Secret{});
  core_->find_aggregators_by([this] { return std::vector<Peer*>{upstream_}; });
  upstream_ = nullptr;
  greet_at_ = 0;
  std::vector<SimPort*> ports;
  for (const auto& port : ports_) ports.push_back(port.get());
  auto transport = std::make_unique<SimTransport>(world_.network(), clock_, id, ports, *core_, [this] { wake(); });
  transport_ = transport.get();
  core_->add_transport(std::move(transport));
  aggregation_ = std::make_unique<Aggregation>(*core_, Secret{}, Aggregation::Limits{}, in_rack());
  wake();
}

void Service::kill() {
  operations_before_ = operations();
  aggregation_.reset();
  core_.reset();
  greeted_.clear();
}

std::uint64_t Service::operations() const {
  return operations_before_ + (aggregation_ ? aggregation_->counts().operations : 0);
}

void Service::be_greeted(Core& client, Peer*& known, Nanoseconds& at) {
  const Nanoseconds now = world_.network().now();
  if (known != nullptr && known->trunk->lanes_up() != 0) at = now + kSecond;
  if (now < at) return;
  if (known != nullptr) client.remove_outsider(*std::exchange(known, nullptr));
  known = greet(client);
  at = now + (known != nullptr ? 5 * kSecond : 100 * kMillisecond);
}

Peer* Service::greet(Core& client) {
  if (core_ == nullptr || world_.network().now() < paused_until_ || !aggregation_->linked()) return nullptr;
  Secret secret{};
  for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(random_.next());
  if (!aggregation_->admit(client.self(), secret, clock_.now())) return nullptr;
  greeted_[client.self().id] = secret;
  note_who_has_come();
  wake();
  return client.add_outsider(aggregation_->address(), secret);
}

/// From then on both count anew. Who has lanes here may have to wait for it.
void Service::note_who_has_come() {
  std::erase_if(greeted_, [&](const auto& client) {
    const Secret* const known = core_->secret(client.first);
    if (known == nullptr || *known != client.second) return false;
    world_.observer().forget(client.first, core_->self().id);
    return true;
  });
}

void Service::wake() { waker_.wake(random_); }

/// As AggregatorServer::run() does it.
void Service::look() {
  if (core_ == nullptr) return;
  if (world_.network().now() < paused_until_) return waker_.alarm_after(paused_until_ - world_.network().now());
  if (in_rack())
    world_.services()[static_cast<std::size_t>(world_.setting().upstream_of[index_])]->be_greeted(*core_, upstream_, greet_at_);
  const bool moved = core_->progress(Watch::all);
  const Nanoseconds now = clock_.now();
  aggregation_->progress(now);
  note_who_has_come();
  core_->step(now);
  if (moved) {
    moved_at_ = now;
    outstanding_ = true;
    return wake();
  }
  if (outstanding_ && now - moved_at_ >= kPatience) {
    outstanding_ = core_->settle();
    moved_at_ = now;
  }
  if (!over_ || outstanding_ || aggregation_->busy()) waker_.alarm_after(outstanding_ || aggregation_->busy() ? kStepEvery : kIdle);
}

void Service::silence(bool silent) {
  for (const auto& port : ports_) {
    port->set_mute(silent);
    port->set_deaf(silent);
  }
}

void Service::misfortune() {
  if (over_) return;
  const Nanoseconds time = random_.between(1, random_.chance(0.5) ? kLongest : 20 * kMillisecond);
  SimNetwork& network = world_.network();
  const char* what = "is killed";
  switch (core_ == nullptr ? 5 : random_.below(5)) {
    case 0:
      kill();
      network.after(time, [this] {
        if (core_ == nullptr) start();
      });
      break;
    case 1:
      what = "stands still";
      paused_until_ = network.now() + time;
      break;
    case 2: {
      what = "loses a port";
      const std::size_t port = random_.below(ports_.size());
      transport_->set_up(port, false);
      network.after(time, [this, port] {
        if (core_ != nullptr) transport_->set_up(port, true);
        else ports_[port]->set_up(true);
      });
      break;
    }
    case 3:
      what = "falls silent";
      silence(true);
      network.after(time, [this] { silence(false); });
      break;
    case 4:
      what = "loses a lane";
      if (transport_->lanes() != 0) transport_->break_lane(random_.below(transport_->lanes()), random_.chance(0.5), time);
      break;
    default:
      what = "is dead";
  }
  world_.talk("service " + std::to_string(index_) + " " + what);
  network.after(random_.between(1, 2 * between_), [this] { misfortune(); });
}

void Service::end() {
  over_ = true;
  paused_until_ = 0;
  silence(false);
  if (core_ == nullptr) start();
  for (std::size_t port = 0; port < ports_.size(); ++port) transport_->set_up(port, true);
  wake();
}

}  // namespace nezha::test
