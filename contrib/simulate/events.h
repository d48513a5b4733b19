/* SPDX-License-Identifier: BSD-3-Clause */
/// What is to happen in a simulation, in the order of time. Times are picoseconds.
#pragma once

#include <cstdint>
#include <vector>

namespace nezha_simulate {

using Time = std::int64_t;
inline constexpr Time kNanosecond = 1000;
inline constexpr Time kMicrosecond = 1000 * kNanosecond;

struct Event {
  Time when;
  std::uint32_t kind;
  std::int32_t what;
};

/// A heap with four children a node. Of events at the same time the order depends on the calls made so far alone, so
/// that a simulation is repeated to the bit.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  Time next() const { return heap_.front().when; }

  void push(Time when, std::uint32_t kind, std::int32_t what) {
    std::size_t at = heap_.size();
    heap_.emplace_back();
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (heap_[parent].when <= when) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = {when, kind, what};
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void sink(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = at * kChildren + 1) {
      const std::size_t end = child + kChildren < size ? child + kChildren : size;
      std::size_t least = child;
      for (++child; child < end; ++child)
        if (heap_[child].when < heap_[least].when) least = child;
      if (heap_[least].when >= event.when) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
};

}  // namespace nezha_simulate
