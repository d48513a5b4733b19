// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/port.h"

#include <algorithm>

namespace nezha {

void SimPort::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (!up) ++outages_;
}

void SimPort::offer(SimStream& stream) {
  if (!stream.queued) {
    stream.queued = true;
    queue_.push_back(stream.shared_from_this());
  }
  if (!sending_) send_next();
}

void SimPort::send_next() {
  while (!queue_.empty()) {
    const std::shared_ptr<SimStream> stream = queue_.front();
    queue_.erase(queue_.begin());
    const std::size_t size = stream->sendable();
    stream->queued = size != 0;
    if (size == 0) continue;
    sending_ = true;
    queue_.push_back(stream);
    const auto took = static_cast<Nanoseconds>(static_cast<double>(size) / options_.rate);
    sending_until_ = network_.now() + took;
    network_.after(took, [this, stream, size] {
      sending_ = false;
      stream->sent(size);
      send_next();
    });
    return;
  }
}

Nanoseconds SimPort::receive(Nanoseconds when, std::size_t size) {
  receiving_until_ = std::max(when, receiving_until_) + static_cast<Nanoseconds>(static_cast<double>(size) / options_.rate);
  return receiving_until_;
}

}  // namespace nezha
