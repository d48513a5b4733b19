// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/stream.h"

#include <algorithm>
#include <cstring>

#include "rail/sim/port.h"

namespace nezha {
namespace {

/// As Linux does it: one probe soon, then from 200 ms on twice as late each time.
constexpr Nanoseconds kProbe = 2 * kMillisecond;
constexpr Nanoseconds kFirstTry = 200 * kMillisecond;
constexpr unsigned kMostDoublings = 6;

}  // namespace

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

bool SimStream::open() const { return !cut_ && network_.passes(from_, to_); }

bool SimStream::answers_open() const { return !cut_ && network_.passes(to_, from_); }

Nanoseconds SimStream::delay() const { return from_.options().delay / 2 + to_.options().delay / 2; }

std::size_t SimStream::sendable() const {
  if (lost_) return 0;
  const std::size_t buffer = network_.options().receive_buffer;
  const std::size_t window = buffer - std::min(buffer, sent_ - read_);
  return std::min({written_ - sent_, window, network_.options().segment});
}

void SimStream::sent(std::size_t size) {
  size = std::min(size, written_ - sent_);  // aborted meanwhile
  if (size == 0) return;
  if (!open()) {
    lost_ = true;
    return try_later();
  }
  sent_ += size;
  SimRandom& random = network_.random();
  Nanoseconds takes = delay() + slower_;
  const Nanoseconds jitter = std::max(from_.options().jitter, to_.options().jitter);
  if (jitter != 0) takes += random.between(0, jitter);
  if (random.chance(network_.options().stall)) takes += network_.options().stall_time;
  last_arrival_ = std::max(last_arrival_, to_.receive(network_.now() + takes, size));
  network_.after(last_arrival_ - network_.now(), [self = shared_from_this(), size] { self->arrive(size); });
}

void SimStream::arrive(std::size_t size) {
  arrived_ += std::min(size, written_ - arrived_);  // aborted meanwhile
  arrived_at_ = network_.now();
  network_.trace(size);
  if (abandoned_) throw_away();
  if (reader != nullptr) reader->stream_changed();
  if (answers_open())
    take_answer();
  else
    try_later();
}

void SimStream::take_answer() {
  answered_ = arrived_;
  answered_at_ = network_.now();
  tries_ = 0;
  if (writer != nullptr) writer->stream_changed();
  finish_if_drained();
}

void SimStream::try_later() {
  if (trying_) return;
  trying_ = true;
  const Nanoseconds later = tries_ == 0 ? 2 * delay() + kProbe : kFirstTry << std::min(tries_ - 1, kMostDoublings);
  ++tries_;
  network_.after(later, [self = shared_from_this()] {
    self->trying_ = false;
    self->try_again();
  });
}

/// What has vanished leaves once more; of what has arrived the sender asks for an answer once more.
void SimStream::try_again() {
  if (cut_ && writer == nullptr && abandoned_) return;  // nobody cares any more
  if (lost_) {
    lost_ = false;
    from_.offer(*this);
    finish_if_drained();
  } else if (answered_ != arrived_) {
    if (open() && answers_open())
      take_answer();
    else
      try_later();
  } else {
    finish_if_drained();
  }
}

void SimStream::finish_if_drained() {
  if (!closing_ || end_sent_ || arrived_ != written_) return;
  if (!open()) return try_later();
  end_sent_ = true;
  network_.after(from_.options().delay, [self = shared_from_this()] { self->arrive_end(); });
}

void SimStream::arrive_end() {
  ended_ = true;
  network_.trace(1);
  if (reader != nullptr) reader->stream_changed();
}

}  // namespace nezha
