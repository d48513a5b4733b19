// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/network.h"

#include <algorithm>
#include <utility>

#include "rail/sim/port.h"

namespace nezha {

void SimNetwork::after(Nanoseconds delay, std::function<void()> what) {
  if (free_actions_.empty()) {
    free_actions_.push_back(actions_.size());
    actions_.emplace_back();
  }
  const std::size_t at = free_actions_.back();
  free_actions_.pop_back();
  actions_[at] = std::move(what);
  events_.push_back({now_ + std::max<Nanoseconds>(delay, 0), order_++, at});
  std::push_heap(events_.begin(), events_.end());
}

bool SimNetwork::step() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end());
  const Event event = events_.back();
  events_.pop_back();
  const std::function<void()> what = std::exchange(actions_[event.what], nullptr);
  free_actions_.push_back(event.what);
  now_ = event.when;
  what();
  return true;
}

void SimNetwork::run_until(Nanoseconds time) {
  while (next() <= time) step();
}

void SimNetwork::pass(Nanoseconds time) {
  after(time, [] {});
  run_until(now_ + time);
}

bool SimNetwork::passes(const SimPort& from, const SimPort& to) const {
  return from.sends() && to.hears() && (blocked_.empty() || blocked_.count({&from, &to}) == 0);
}

void SimNetwork::block(const SimPort& from, const SimPort& to, bool blocked) {
  if (blocked)
    blocked_.insert({&from, &to});
  else
    blocked_.erase({&from, &to});
}

SimTransport* SimNetwork::find(ProcessId id) const {
  const auto found = transports_.find(id);
  return found == transports_.end() ? nullptr : found->second;
}

}  // namespace nezha
