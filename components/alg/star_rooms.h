// SPDX-License-Identifier: BSD-3-Clause
/// An aggregator's memory for the chunks of an operation that are under way (star.h). Chunk n lies in slot n % window: room for
/// what each client sends of it, and for the final sum.
#pragma once

#include <cstddef>

#include "util/buffer_pool.h"

namespace nezha {

class StarRooms {
 public:
  /// `chunk`: bytes of the largest one. `window` is not 0.
  void take(BufferPool& buffers, std::size_t window, int clients, std::size_t chunk) {
    window_ = window;
    clients_ = static_cast<std::size_t>(clients);
    chunk_ = chunk;
    memory_ = buffers.take(window * (clients_ + 1) * chunk);
  }
  std::byte* of(std::size_t number, int client) const { return room(number, static_cast<std::size_t>(client)); }
  std::byte* sum(std::size_t number) const { return room(number, clients_); }
  void give_back() { memory_.give_back(); }

 private:
  std::byte* room(std::size_t number, std::size_t index) const {
    return memory_.data() + (number % window_ * (clients_ + 1) + index) * chunk_;
  }

  BufferPool::Buffer memory_;
  std::size_t window_ = 0, clients_ = 0, chunk_ = 0;
};

}  // namespace nezha
