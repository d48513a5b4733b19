// SPDX-License-Identifier: BSD-3-Clause
/// Who exchanges with whom in recursive doubling. For other team sizes than powers of two the first positions pair up:
/// step 0 is the pairing, 1..k the exchanges, k+1 the result for the position that paired up.
#pragma once

#include <bit>

namespace nezha {

struct DoublingPartners {
  DoublingPartners(int size, int position_)
      : exchanges(std::bit_width(static_cast<unsigned>(size)) - 1), extra(size - (1 << exchanges)), position(position_) {}

  int result_step() const { return exchanges + 1; }
  /// The first 2 * extra positions pair up: the odd one of a pair works for both.
  bool paired() const { return position < 2 * extra; }
  bool works() const { return !paired() || position % 2 == 1; }

  /// Who sends to this position in that step; -1 when nobody does.
  int partner(int step) const {
    if (step == 0) return paired() && works() ? position - 1 : -1;
    if (step == result_step()) return works() ? -1 : position + 1;
    return works() ? position_of(index() ^ (1 << (step - 1))) : -1;
  }

  int exchanges;
  int extra;
  int position;

 private:
  /// Position among those that exchange, and back.
  int index() const { return paired() ? position / 2 : position - extra; }
  int position_of(int index) const { return index < extra ? 2 * index + 1 : index + extra; }
};

}  // namespace nezha
