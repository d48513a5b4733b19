// SPDX-License-Identifier: BSD-3-Clause
/// What operations that have ended here have sent to a peer that is not known to have begun them: it counts against the peer's
/// window for early pieces until the peer has begun them. A broadcast's root ends long before its leaves begin.
///
/// Not thread safe; allocates only while the number of entries still grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trunk/piece.h"

namespace nezha {

class Ahead {
 public:
  struct Entry {
    TeamId team;
    OpNumber op;
    std::size_t bytes;
    bool asked = false;  ///< the peer was asked to say when it has begun it
  };

  /// Operations of a team come in their order. Where there is no room it joins the latest one of its team, which is
  /// released later than it could be then. False: there is none.
  bool add(TeamId team, OpNumber op, std::size_t bytes) {
    bytes_ += bytes;
    if (entries_.size() < kMost) return entries_.push_back({team, op, bytes}), true;
    const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) { return e.team == team; });
    if (last == entries_.rend()) return bytes_ -= bytes, false;
    *last = {team, op, last->bytes + bytes};
    return true;
  }

  /// The peer has begun those of the team up to `op`: returns how many bytes of the window that sets free.
  std::size_t release(TeamId team, OpNumber op) {
    std::size_t freed = 0;
    std::erase_if(entries_, [&](const Entry& e) {
      if (e.team != team || e.op > op) return false;
      freed += e.bytes;
      return true;
    });
    bytes_ -= freed;
    return freed;
  }

  /// Calls ask(entry) for the latest operation of each team, or of that one only, unless one of it was asked for already.
  template <typename Ask>
  void ask(const Ask& ask, TeamId only = 0) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      const auto later_or_asked = [&](const Entry& e) { return e.team == entry.team && (e.asked || e.op > entry.op); };
      if ((only != 0 && entry.team != only) || std::any_of(entries_.begin(), entries_.end(), later_or_asked)) continue;
      entry.asked = true;
      ask(entry);
    }
  }

  bool empty() const { return entries_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace nezha
