// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/received_set.h"

#include <algorithm>

namespace nezha {

void ReceivedSet::add(std::uint64_t id) {
  if (id < below_) return;
  highest_ = std::max(highest_, id);
  words_[id / 64 % words_.size()] |= std::uint64_t{1} << (id % 64);
  while (bit(below_)) {
    words_[below_ / 64 % words_.size()] &= ~(std::uint64_t{1} << (below_ % 64));
    ++below_;
  }
}

AckRecord ReceivedSet::ack() const {
  AckRecord out;
  out.below = below_;
  const std::uint64_t shift = below_ % 64;
  const std::uint64_t first = below_ / 64;
  for (std::uint64_t i = 0; i < out.bits.size(); ++i) {
    const std::uint64_t low = words_[(first + i) % words_.size()] >> shift;
    const std::uint64_t high = shift == 0 ? 0 : words_[(first + i + 1) % words_.size()] << (64 - shift);
    out.bits[i] = low | high;
  }
  return out;
}

}  // namespace nezha
