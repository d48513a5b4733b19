// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/queue_kind.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::size_t kPlace = 1 + sizeof(ProcessId);  ///< port, process
constexpr std::byte kGarbage{0xdd};
constexpr int kAtOnce = 16;                            ///< events of a pair in one poll

}  // namespace

SimQueueKind::SimQueueKind(SimQueueFabric& fabric, ProcessId self, std::vector<SimPort*> ports, std::function<void()> on_work)
    : fabric_(fabric), self_(self), ports_(std::move(ports)), on_work_(std::move(on_work)),
      completions_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), connections_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    RailAddress& rail = rails_.emplace_back();
    rail.transport = "queue";
    rail.name = ports_[i]->options().name;
    rail.network = {std::byte{ports_[i]->options().network}};
    rail.place.resize(kPlace);
    rail.place[0] = static_cast<std::byte>(i);
    store_le<std::uint64_t>(&rail.place[1], self_);
    rail.speed_mbps = ports_[i]->options().speed_mbps;
  }
  fabric_.kinds[self_] = this;
}

SimQueueKind::~SimQueueKind() {
  fabric_.kinds.erase(self_);
  for (const SimQueueRequest& request : requests_) request.back->end(), request.there->abandon();
}

std::string SimQueueKind::where(const RailAddress& rail) const {
  return rail.place.size() == kPlace ? "port " + std::to_string(std::to_integer<int>(rail.place[0])) : "?";
}

Status SimQueueKind::connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) {
  if (remote.place.size() != kPlace) return {Code::bad_peer, "no place of such a rail"};
  const auto number = std::to_integer<std::size_t>(remote.place[0]);
  const auto peer = fabric_.kinds.find(load_le<std::uint64_t>(&remote.place[1]));
  if (peer == fabric_.kinds.end() || number >= peer->second->ports_.size()) return {Code::refused, "nobody is there"};
  SimQueueRequest request;
  request.from = self_;
  request.to = peer->first;
  request.rail = number;
  request.asking = ports_[rail];
  request.asked = peer->second->ports_[number];
  made = std::make_unique<SimQueuePair>(*this, std::move(request), false);
  return {};
}

Nanoseconds SimQueueKind::delay(const SimQueueRequest& request) const {
  return request.asking->options().delay / 2 + request.asked->options().delay / 2;
}

/// A request that gets lost is not repeated: the deadline of who asks will tell.
void SimQueueKind::ask(const SimQueueRequest& request) {
  network().after(delay(request), [&fabric = fabric_, request] {
    const auto peer = fabric.kinds.find(request.to);
    if (peer == fabric.kinds.end() || !fabric.network.passes(*request.asking, *request.asked)) return;
    if (fabric.network.random().chance(fabric.network.options().refusal)) return request.back->end();
    peer->second->requests_.push_back(request);
    peer->second->ring();
  });
}

/// All are there from the first pair on.
void SimQueueKind::share(std::size_t slot) {
  while (shared_.slots.size() < options().shared) {
    shared_.posted.push_back(static_cast<std::uint32_t>(shared_.slots.size()));
    shared_.slots.emplace_back(slot);
  }
}

void SimQueueKind::post_shared(std::uint32_t slot) {
  std::fill(shared_.slots[slot].begin(), shared_.slots[slot].end(), kGarbage);
  shared_.posted.push_back(slot);
  take_back(0);
}

/// Slots that messages of a pair that is closed would have taken, and others may wait for.
void SimQueueKind::take_back(std::size_t promises) {
  if (options().shared == 0) return;
  shared_.promised -= promises;
  for (SimQueuePair* pair : std::vector(pairs_)) pair->receive();
}

/// Something has changed.
void SimQueueKind::ring() {
  ring(Watch::all);
  if (ready(false)) ring(Watch::rare);
  on_work_();
}

void SimQueueKind::ring(Watch watch) {
  if (!std::exchange(rung(watch), true)) eventfd_write(fd(watch), 1);
}

void SimQueueKind::calm(Watch watch) {
  if (!rung(watch) || ready(watch == Watch::all)) return;
  rung(watch) = false;
  eventfd_t drained = 0;
  eventfd_read(fd(watch), &drained);
}

bool SimQueueKind::ready(bool all) const {
  return !requests_.empty() || std::any_of(pairs_.begin(), pairs_.end(), [&](const auto* pair) { return pair->ready(all); });
}

bool SimQueueKind::poll(Watch watch, MessageArrivals& arrivals) {
  if (!rung(Watch::all)) return false;
  bool any = !requests_.empty();
  for (SimQueueRequest& request : std::exchange(requests_, {})) {
    const std::string from = "process " + std::to_string(request.from);
    const std::size_t rail = request.rail;
    arrivals.arrived(rail, std::make_unique<SimQueuePair>(*this, std::move(request), true), from);
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {  // they may become fewer
    SimQueuePair* pair = pairs_[i];
    for (int n = 0; n < kAtOnce && i < pairs_.size() && pairs_[i] == pair && pair->poll(watch == Watch::all); ++n) any = true;
  }
  calm(Watch::all);
  calm(Watch::rare);
  return any;
}

bool SimQueueKind::may_sleep(Watch watch) {
  if (!ready(watch == Watch::all)) return true;
  on_work_();
  return false;
}

void SimQueueKind::forget_pairs(const SimPort& port) {
  for (SimQueuePair* pair : pairs_)
    if (&pair->port() == &port) pair->break_off("the device is gone", true);
}

}  // namespace nezha
