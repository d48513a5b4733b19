// SPDX-License-Identifier: BSD-3-Clause
/// A lane that does nothing: for what asks only which one it is.
#pragma once

#include "rail/rail.h"

namespace nezha::test {

class NoLane final : public Lane {
 public:
  NoLane() : Lane({}) {}
  Sent send(std::span<const std::byte>, std::span<const Gather>) override { return Sent::down; }
  bool busy() const override { return false; }
  void own_rest() override {}
  void redirect(std::size_t) override {}
  std::size_t fill() override { return 0; }
  Nanoseconds min_rtt() override { return 0; }
  void close() override {}
};

}  // namespace nezha::test
