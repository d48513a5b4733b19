// SPDX-License-Identifier: BSD-3-Clause
/// Runs a function at the end of a scope, also when an exception leaves it.
#pragma once

#include <utility>

namespace nezha {

/// `action` must not throw.
template <typename Action>
class AtExit {
 public:
  explicit AtExit(Action action) : action_(std::move(action)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { action_(); }

 private:
  Action action_;
};

}  // namespace nezha
