// SPDX-License-Identifier: BSD-3-Clause
/// Signals are the application's, and its threads take them: ours are born with all of them blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace nezha {

/// Blocks all signals for the calling thread, and the threads that it starts, as long as it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace nezha
