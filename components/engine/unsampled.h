// SPDX-License-Identifier: BSD-3-Clause
/// How long a team goes by what the links say of themselves before it has its lanes sampled. A sample takes the networks for
/// some 40 ms where they carry 1 Gbit/s, which a short program with small vectors never gets back. All members decide alike,
/// since they see the same calls.
#pragma once

#include <cstddef>

#include "trunk/lane_limits.h"

namespace nezha {

class Unsampled {
 public:
  static constexpr std::size_t kFree = kSmall;           ///< bytes of a vector: few links are so slow that it is split
  static constexpr std::size_t kModest = 32 * 1024;      ///< and up to this, they matter little
  static constexpr std::size_t kWorthASample = 2 << 20;  ///< bytes of all vectors above kFree

  /// A call of so many bytes, the next one, should not begin without rates.
  bool too_much(std::size_t bytes) const { return bytes > kFree && (bytes > kModest || passed_ + bytes > kWorthASample); }
  /// It begins all the same.
  void passes(std::size_t bytes) { passed_ += bytes > kFree ? bytes : 0; }

 private:
  std::size_t passed_ = 0;
};

}  // namespace nezha
