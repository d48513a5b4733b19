// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/tcp_handshake.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "rail/tcp/socket.h"

namespace nezha {

TcpHandshake::TcpHandshake(Fd fd, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline,
                           ProcessId self)
    : fd_(std::move(fd)), talk_(spec, self), connecting_(true), rail_(rail), peer_(std::move(peer)), deadline_(deadline) {}

TcpHandshake::TcpHandshake(Fd fd, std::size_t rail, std::uint8_t rail_index, std::string peer, Nanoseconds deadline,
                           ProcessId self)
    : fd_(std::move(fd)), talk_(rail_index, self), connecting_(false), rail_(rail), peer_(std::move(peer)),
      deadline_(deadline) {}

TcpHandshake::Outcome TcpHandshake::proceed(const Admission& admission) {
  if (connecting_) {
    why_ = connected();
    return why_.ok() ? Outcome::pending : Outcome::failed;
  }
  for (;;) {
    const ssize_t got = recv(fd_.get(), message_.data() + got_, talk_.wanted() - got_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Outcome::pending;
    if (got < 0) why_ = io_error("receiving", errno);
    if (got == 0) why_ = {Code::refused, "the other side closed the connection before admission"};
    if (got <= 0) return Outcome::failed;
    got_ += static_cast<std::size_t>(got);
    if (got_ < talk_.wanted()) continue;
    const Outcome outcome = take_message(admission);
    if (outcome != Outcome::pending) return outcome;
  }
}

/// `message_` is whole.
TcpHandshake::Outcome TcpHandshake::take_message(const Admission& admission) {
  const Outcome outcome = talk_.take({message_.data(), std::exchange(got_, 0)}, admission);
  why_ = talk_.why();
  if (outcome == Outcome::failed || talk_.answer().empty()) return outcome;
  why_ = send_message(talk_.answer());
  return why_.ok() ? outcome : Outcome::failed;
}

Status TcpHandshake::connected() {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return io_error("connecting", error);
  connecting_ = false;
  if (Status status = talk_.begin(); !status.ok()) return status;
  return send_message(talk_.answer());
}

Status TcpHandshake::send_message(std::span<const std::byte> message) const {
  for (;;) {
    const ssize_t sent = send(fd_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(message.size())) return {};
    if (sent >= 0) return {Code::io, "a fresh connection took only part of a handshake"};
    if (errno != EINTR) return io_error("sending", errno);
  }
}

}  // namespace nezha
