// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/port.h"

#include <algorithm>
#include <cstring>

namespace nezha {

std::size_t SimStream::room() const {
  const std::size_t buffer = network_.options().send_buffer;
  return buffer - std::min(buffer, under_way());
}

void SimStream::write(const std::byte* bytes, std::size_t size) {
  bytes_.insert(bytes_.end(), bytes, bytes + size);
  written_ += size;
  from_.offer(*this);
}

std::size_t SimStream::unanswered() const {
  const std::size_t buffer = network_.options().receive_buffer;
  return std::min(under_way(), buffer - std::min(buffer, arrived_ - read_));
}

void SimStream::end() {
  closing_ = true;
  finish_if_drained();
}

void SimStream::abort() {
  const std::size_t left = arrived_ + network_.random().below(sent_ - arrived_ + 1);
  bytes_.resize(bytes_.size() - (written_ - left));
  written_ = sent_ = left;
  end();
}

std::size_t SimStream::read(std::byte* to, std::size_t size) {
  const std::size_t got = std::min(size, available());
  std::memcpy(to, bytes_.data() + consumed_, got);
  read_ += got;
  consumed_ += got;
  if (consumed_ > bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(consumed_));
    consumed_ = 0;
  }
  if (got != 0) from_.offer(*this);
  return got;
}

void SimStream::abandon() {
  reader = nullptr;
  abandoned_ = true;
  throw_away();
}

void SimStream::throw_away() {
  consumed_ += available();
  read_ = arrived_;
  from_.offer(*this);
}

bool SimStream::open() const { return from_.up() && to_.up(); }

std::size_t SimStream::sendable() const {
  if (!open()) return 0;
  const std::size_t buffer = network_.options().receive_buffer;
  const std::size_t window = buffer - std::min(buffer, sent_ - read_);
  return std::min({written_ - sent_, window, network_.options().segment});
}

void SimStream::sent(std::size_t size) {
  size = std::min(size, written_ - sent_);  // aborted meanwhile
  sent_ += size;
  SimRandom& random = network_.random();
  Nanoseconds delay = from_.options().delay / 2 + to_.options().delay / 2 + slower_;
  const Nanoseconds jitter = std::max(from_.options().jitter, to_.options().jitter);
  if (jitter != 0) delay += random.between(0, jitter);
  if (random.chance(network_.options().stall)) delay += network_.options().stall_time;
  last_arrival_ = std::max(last_arrival_, to_.receive(network_.now() + delay, size));
  network_.after(last_arrival_ - network_.now(), [self = shared_from_this(), size] { self->arrive(size); });
}

void SimStream::arrive(std::size_t size) {
  arrived_ += std::min(size, written_ - arrived_);  // aborted meanwhile
  arrived_at_ = network_.now();
  network_.trace(size);
  if (abandoned_) throw_away();
  if (reader != nullptr) reader->stream_changed();
  if (writer != nullptr) writer->stream_changed();
  finish_if_drained();
}

void SimStream::finish_if_drained() {
  if (!closing_ || end_sent_ || arrived_ != written_ || !open()) return;
  end_sent_ = true;
  network_.after(from_.options().delay, [self = shared_from_this()] { self->arrive_end(); });
}

void SimStream::arrive_end() {
  ended_ = true;
  network_.trace(1);
  if (reader != nullptr) reader->stream_changed();
}

void SimStream::path_changed() {
  from_.offer(*this);
  finish_if_drained();
}

void SimPort::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (!up) ++outages_;
  std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (const auto stream = streams_[i].lock()) stream->path_changed();
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
