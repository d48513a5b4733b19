// SPDX-License-Identifier: BSD-3-Clause
/// Those of many that have something to be done at a step: of many communicators few have, and a look at one costs several cache
/// misses. One is added when something begins, and leaves when a look finds it over. Guarded by the engine's lock.
#pragma once

#include <algorithm>
#include <vector>

namespace nezha {

template <typename Member>
class MarkedSet {
 public:
  using Mark = bool Member::*;
  /// `mark`: which of a member's says that it is in.
  explicit MarkedSet(Mark mark) : mark_(mark) {}

  void add(Member& member) {
    if (member.*mark_) return;
    members_.push_back(&member);
    member.*mark_ = true;
  }
  void remove(Member& member) {
    if (!(member.*mark_)) return;
    member.*mark_ = false;
    std::erase(members_, &member);
  }
  /// The others leave. `stays` changes no set.
  template <typename Stays>
  void keep(const Stays& stays) {
    std::erase_if(members_, [&](Member* member) { return !(member->*mark_ = stays(*member)); });
  }

  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

 private:
  Mark mark_;
  std::vector<Member*> members_;  ///< in the order in which they came
};

}  // namespace nezha
