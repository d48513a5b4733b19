// SPDX-License-Identifier: BSD-3-Clause
/// A call that does not block: its operation, which begins when the team has room for it, and whether it is over.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/team.h"

namespace nezha {

class Engine;

/// Guarded by the engine's lock, but for `state`, which its owner may read at any time.
struct Request {
  Engine* engine = nullptr;  ///< whose it is
  Team* team = nullptr;
  Call call;
  AlgorithmChoice algorithm = AlgorithmChoice::automatic;
  OpNumber number = 0;    ///< of its operation, or on its track; 0: it has not begun
  bool shared = false;    ///< by way of the nodes' shared memory
  std::size_t track = 0;  ///< there
  Nanoseconds began = 0;
  std::atomic<int> state = NEZHA_PENDING;  ///< NEZHA_OK or an error when it is over
};

}  // namespace nezha
