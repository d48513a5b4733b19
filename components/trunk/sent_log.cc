// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/sent_log.h"

#include <utility>

namespace nezha {

SentPiece& SentLog::add() {
  if (next_ - oldest_ == slots_.size()) {
    std::vector<SentPiece> larger(slots_.size() * 2);
    for (std::uint64_t id = oldest_; id != next_; ++id) larger[id % larger.size()] = at(id);
    slots_ = std::move(larger);
  }
  SentPiece& piece = at(next_);
  piece = SentPiece{};
  piece.header.id = next_++;
  return piece;
}

}  // namespace nezha
