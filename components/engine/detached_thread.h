// SPDX-License-Identifier: BSD-3-Clause
/// A thread for what may block for as long as somebody else's library likes. Nobody waits for its end, so it holds what it uses.
#pragma once

#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

#include "engine/signals_blocked.h"

namespace nezha {

/// `name`: of at most 15 letters, or null. False: the system refuses a thread.
template <typename Work>
bool detach_thread(const char* name, Work work) {
  const SignalsBlocked meanwhile;
  try {
    std::thread thread(std::move(work));
    if (name != nullptr) pthread_setname_np(thread.native_handle(), name);
    thread.detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace nezha
