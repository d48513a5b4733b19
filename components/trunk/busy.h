// SPDX-License-Identifier: BSD-3-Clause
/// The trunks of an engine that have something under way, so that nobody has to look at all of them. Guarded by the
/// engine's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "util/clock.h"

namespace nezha {

class Trunk;

class Busy {
 public:
  /// One that was at rest has something to send, to hear an answer to, or to acknowledge.
  void add(Trunk& trunk) { trunks_.push_back(&trunk); }
  /// Calls what(trunk) for each; meanwhile more may come.
  template <typename What>
  void each(const What& what) {
    for (std::size_t i = 0; i < trunks_.size(); ++i) what(*trunks_[i]);
  }
  /// It is about to go. Not from within each().
  void forget(Trunk& trunk) { std::erase(trunks_, &trunk); }
  /// Leaves out those that are at rest.
  void let_go(Nanoseconds now);

 private:
  std::vector<Trunk*> trunks_;
};

}  // namespace nezha
