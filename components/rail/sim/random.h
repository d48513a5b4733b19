// SPDX-License-Identifier: BSD-3-Clause
/// Random numbers that depend on nothing but their seed (splitmix64): the standard library's distributions differ
/// between implementations, and a failing seed has to replay everywhere.
#pragma once

#include <cstdint>

#include "util/clock.h"

namespace nezha {

class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, limit); limit > 0. The bias for large limits does not matter here.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// In [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real() < probability; }
  /// A generator of its own, so that what it is used for does not disturb the order of other draws.
  SimRandom fork() { return SimRandom(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace nezha
