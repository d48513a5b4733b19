// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/send_task.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "rail/tcp/socket.h"

namespace nezha {

ssize_t send_now(int fd, std::span<iovec> places, int& error) {
  msghdr message{};
  message.msg_iov = places.data();
  message.msg_iovlen = places.size();
  for (;;) {
    const ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (temporary(errno)) return 0;
    if (errno == EINTR) continue;
    error = errno;
    return -1;
  }
}

void SendTask::prepare(int fd, std::span<iovec> places, int over_fd) {
  fd_ = fd;
  places_ = places;
  over_fd_ = over_fd;
  sent_ = 0;
  error_ = 0;
  over_.store(false, std::memory_order_relaxed);
}

void SendTask::run() {
  const int over_fd = over_fd_;
  const ssize_t sent = send_now(fd_, places_, error_);
  if (sent > 0) sent_ = static_cast<std::size_t>(sent);
  over_.store(true, std::memory_order_release);  // from here on this object is the lane's again
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(over_fd, &one, sizeof one);
}

}  // namespace nezha
