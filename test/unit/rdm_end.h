// SPDX-License-Identifier: BSD-3-Clause
/// A queue pair's owner with its memory, as a channel is one. What it is told is recorded.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "rail/message/queue_pair.h"

namespace nezha::test {

struct RdmEnd final : QueuePairEvents {
  static constexpr std::uint32_t kSlots = 12;

  explicit RdmEnd(std::unique_ptr<QueuePair> of) : pair(std::move(of)) {
    slots.size = 65 * 1024;
    slots.receives = slots.sends = kSlots;
    slots.owner = std::make_shared<std::byte[]>(2 * kSlots * slots.size);
    slots.memory = {slots.owner.get(), 2 * kSlots * slots.size};
    memory = slots.owner;
    EXPECT_TRUE(pair->enroll(slots, *this).ok());
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) EXPECT_TRUE(pair->post_receive(slot).ok());
    EXPECT_TRUE(pair->start().ok());
  }
  void connected() override { up = true; }
  void received(std::uint32_t slot, std::size_t size) override {
    sizes.push_back(size);
    firsts.push_back(slots.at(slot)[0]);
    EXPECT_TRUE(pair->post_receive(slot).ok());
  }
  void sent(std::uint32_t) override { ++read; }
  void broken(const Status& status) override {
    why = status;
    pair->close();
  }
  /// Nothing is left of it but what the pair keeps.
  void close() {
    pair->close();
    slots = {};
  }

  Slots slots;
  std::weak_ptr<std::byte[]> memory;
  bool up = false;
  int read = 0;
  std::vector<std::size_t> sizes;
  std::vector<std::byte> firsts;
  Status why;
  std::unique_ptr<QueuePair> pair;  ///< last: it goes first
};

}  // namespace nezha::test
