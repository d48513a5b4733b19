// SPDX-License-Identifier: BSD-3-Clause
/// For which kinds of calls all members have a kernel, or a library's, so that their vectors can be reduced outside of them.
///
/// A kind is what all members see alike: the bytes of an element and the operation. Of the type each knows only its own, since
/// types of one signature may differ from rank to rank. So the members combine a word at the first call of each kind. A later call
/// of that kind may have other types: then a member that lacks the kernel takes no part in it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nezha/nezha.h"

namespace nezha {

class AgreedKinds {
 public:
  enum class Answer : std::uint8_t { unknown, all_can, not_all };

  Answer of(std::size_t element, nezha_op_t op) const {
    return suits(element, op) ? answers_[index(element)][op] : Answer::not_all;
  }
  /// What this member says of its type, to be combined by OR.
  std::span<std::uint64_t> words(bool can) {
    word_ = can ? 0 : 1;
    return {&word_, 1};
  }
  /// The words on that kind are combined.
  void agreed(std::size_t element, nezha_op_t op) {
    answers_[index(element)][op] = word_ == 0 ? Answer::all_can : Answer::not_all;
  }
  void forget() { answers_ = {}; }

 private:
  static constexpr std::size_t kSizes = 5;  ///< elements of 1 to 16 bytes

  static bool suits(std::size_t element, nezha_op_t op) {
    return std::has_single_bit(element) && index(element) < kSizes && op != NEZHA_OP_OTHER;
  }
  static std::size_t index(std::size_t element) { return static_cast<std::size_t>(std::bit_width(element)) - 1; }

  std::array<std::array<Answer, NEZHA_OP_COUNT>, kSizes> answers_{};
  std::uint64_t word_ = 0;
};

}  // namespace nezha
