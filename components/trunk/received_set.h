// SPDX-License-Identifier: BSD-3-Clause
/// Which piece ids of one trunk and direction have arrived: the duplicate check, and the source of acks.
#pragma once

#include <array>
#include <cstdint>

#include "trunk/wire.h"

namespace nezha {

/// A sender never has more than this many ids between its oldest unacknowledged piece and its newest.
constexpr std::uint64_t kIdWindow = 4096;

class ReceivedSet {
 public:
  /// False for an id that no honest sender can use now.
  bool acceptable(std::uint64_t id) const { return id != 0 && id < below_ + kIdWindow; }
  bool contains(std::uint64_t id) const { return id < below_ || bit(id); }
  /// `id` must be acceptable.
  void add(std::uint64_t id);
  AckRecord ack() const;
  /// Whether it has room for all ids that have arrived above the first one that is missing.
  bool ack_names_all() const { return highest_ < below_ + 64 * AckRecord().bits.size(); }
  bool any() const { return below_ != 1 || words_ != decltype(words_){}; }

 private:
  bool bit(std::uint64_t id) const { return (words_[id / 64 % words_.size()] >> (id % 64) & 1) != 0; }

  std::uint64_t below_ = 1;    ///< all ids below have arrived
  std::uint64_t highest_ = 0;  ///< that has arrived
  std::array<std::uint64_t, kIdWindow / 64> words_{};  ///< ring of bits for [below_, below_ + kIdWindow)
};

}  // namespace nezha
