// SPDX-License-Identifier: BSD-3-Clause
/// Why a member of a team gave up an operation, as it tells the others, and how a control record carries that: the
/// ranks in `offset`, the reason (the upper 8 bits) and `expected` in `op`, `came` in `whole`.
#pragma once

#include <cstdint>

#include "trunk/piece.h"
#include "util/status.h"

namespace nezha {

struct Failure {
  enum class Why : std::uint8_t {
    silent,   ///< `of` gave no sign of life
    differs,  ///< `of` sent what the operation of `by` cannot have: their calls differ
    broken,   ///< `by` cannot go on, for a reason of its own
    gone,     ///< `by` has given up the team
  };

  Why why = Why::silent;
  std::uint32_t by = 0, of = 0;  ///< ranks of the team: who gave up, on whom
  std::uint64_t expected = 0;    ///< differs: bytes of the vector of `by`; below 2^56
  std::uint32_t came = 0;        ///< differs: bytes of the vector of `of`, the low 32 bits

  bool operator==(const Failure&) const = default;
};

/// Fills what the record's kind leaves to it.
void encode_failure(const Failure& failure, PieceHeader& record);
/// From a record of the wire: not ok when the reason is unknown. The ranks are as they came.
Status decode_failure(const PieceHeader& record, Failure& failure);

}  // namespace nezha
