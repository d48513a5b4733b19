// SPDX-License-Identifier: BSD-3-Clause
/// The sending system call of one large frame, made by the rail's worker.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "rail/rail.h"

namespace nezha {

/// One sendmsg of `places` that does not block. Bytes taken, maybe 0 when there is no room now; or -1 and the reason in
/// `error`. Any thread.
ssize_t send_now(int fd, std::span<iovec> places, int& error);

class SendTask final : public Task {
 public:
  /// What it will send. `over_fd` is an eventfd that is written when it is over.
  void prepare(int fd, std::span<iovec> places, int over_fd);
  void run() override;

  /// Its call has been made; what follows may be asked then.
  bool over() const { return over_.load(std::memory_order_acquire); }
  /// Bytes that were taken, once.
  std::size_t take_sent() { return std::exchange(sent_, 0); }
  /// Why the connection has failed; 0: it has not.
  int error() const { return error_; }

 private:
  int fd_ = -1, over_fd_ = -1;
  std::span<iovec> places_;
  std::size_t sent_ = 0;
  int error_ = 0;
  std::atomic<bool> over_ = false;
};

}  // namespace nezha
