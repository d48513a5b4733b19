/* SPDX-License-Identifier: BSD-3-Clause */
/// Numbers at random, the same on every machine for the same seed (splitmix64).
#pragma once

#include <cstdint>

namespace nezha_simulate {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// 0 to count - 1.
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>((next() >> 32) * count >> 32); }
  /// True in `percent` of 100 cases.
  bool in_percent(double percent) { return static_cast<double>(next() >> 11) * 0x1p-53 * 100 < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace nezha_simulate
