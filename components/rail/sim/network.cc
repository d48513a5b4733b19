// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/network.h"

#include <algorithm>
#include <utility>

namespace nezha {

void SimNetwork::after(Nanoseconds delay, std::function<void()> what) {
  events_.push_back({now_ + std::max<Nanoseconds>(delay, 0), order_++, std::move(what)});
  std::push_heap(events_.begin(), events_.end());
}

bool SimNetwork::step() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end());
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.when;
  event.what();
  return true;
}

SimTransport* SimNetwork::find(ProcessId id) const {
  const auto found = transports_.find(id);
  return found == transports_.end() ? nullptr : found->second;
}

}  // namespace nezha
