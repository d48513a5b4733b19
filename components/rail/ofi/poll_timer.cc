// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/poll_timer.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace nezha {

Status PollTimer::open() {
  fd_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  return fd_ ? Status{} : Status{Code::io, std::string("a timer for waiting: ") + std::strerror(errno)};
}

void PollTimer::arm() {
  if (armed_ != 0 && armed_ <= span_) return;
  const itimerspec once{{}, {span_ / kSecond, span_ % kSecond}};
  if (timerfd_settime(fd_.get(), 0, &once, nullptr) == 0) armed_ = span_;
}

/// One that has not expired is armed still and stays so.
void PollTimer::awake(bool moved) {
  if (moved) expect();
  std::uint64_t expired = 0;
  if (armed_ == 0 || read(fd_.get(), &expired, sizeof expired) != sizeof expired) return;
  armed_ = 0;
  if (!moved) span_ = std::min(2 * span_, kLongest);
}

}  // namespace nezha
