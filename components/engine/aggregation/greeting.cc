// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/greeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "util/bytes.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr std::uint64_t kMagic = 0x31'47'47'41'41'5a'45'4e;  // "NEZAAGG1"
constexpr std::size_t kNonce = 16;
constexpr std::size_t kHelloHead = sizeof(kMagic) + kNonce + 2;
constexpr std::size_t kAnswerHead = kNonce + 2;
constexpr std::size_t kMostAddress = 16 * 1024;

}  // namespace

Greeting::Greeting(Side side, Fd fd, const Secret& key, const Address& own, Nanoseconds deadline)
    : side_(side),
      fd_(std::move(fd)),
      key_(key),
      own_(own),
      deadline_(deadline),
      connecting_(side == Side::rank),
      next_(side == Side::rank ? Next::answer : Next::hello) {
  if (side != Side::rank) return;
  said_.resize(sizeof(kMagic) + kNonce);
  store_le<std::uint64_t>(said_.data(), kMagic);
  why_ = random_bytes(std::span(said_).subspan(sizeof(kMagic)));
  add_address(own);
  out_ = said_;
}

void Greeting::add_address(const Address& own) {
  Address shown = own;
  shown.key = {};
  const Bytes bytes = encode_address(shown);
  std::array<std::byte, 2> size;
  store_le<std::uint16_t>(size.data(), static_cast<std::uint16_t>(bytes.size()));
  said_.insert(said_.end(), size.begin(), size.end());
  said_.insert(said_.end(), bytes.begin(), bytes.end());
}

Greeting::State Greeting::fail(Code code, const std::string& text) {
  why_ = {code, text};
  next_ = Next::nothing;
  return State::failed;
}

bool Greeting::silent() const {
  char first = 0;
  return next_ == Next::hello && in_.empty() && recv(fd_.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

Greeting::State Greeting::step(Nanoseconds now) {
  if (!why_.ok()) return State::failed;
  if (now >= deadline_) return fail(Code::timed_out, "no answer within the time");
  if (connecting_) {
    pollfd ready{fd_.get(), POLLOUT, 0};
    if (poll(&ready, 1, 0) == 0) return State::pending;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return fail(Code::io, std::string("connect: ") + std::strerror(error));
    connecting_ = false;
  }
  if (!flush()) return State::failed;
  const bool open = fill();
  const State state = go_on();
  if (state != State::pending) return state;
  if (!open) return fail(Code::closed, "the other side has closed the connection; its log may tell why");
  return State::pending;
}

bool Greeting::flush() {
  while (!out_.empty()) {
    const ssize_t sent = send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (sent < 0) return fail(Code::io, std::string("send: ") + std::strerror(errno)) == State::pending;
    out_.erase(out_.begin(), out_.begin() + sent);
  }
  return true;
}

/// False: nothing more will come.
bool Greeting::fill() {
  std::array<std::byte, 4096> room;
  while (in_.size() < 2 * kMostAddress) {
    const ssize_t got = recv(fd_.get(), room.data(), room.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    in_.insert(in_.end(), room.begin(), room.begin() + got);
  }
  return true;
}

Greeting::State Greeting::go_on() {
  switch (next_) {
    case Next::hello:
      return take_hello();
    case Next::answer:
      return take_answer();
    case Next::proof:
      return take_proof();
    case Next::welcome:
      return take_welcome();
    case Next::nothing:
      break;
  }
  return why_.ok() ? State::done : State::failed;
}

std::size_t Greeting::length(std::size_t head, std::size_t tail) const {
  if (in_.size() < head) return 0;
  return head + load_le<std::uint16_t>(&in_[head - 2]) + tail;
}

Greeting::State Greeting::take_hello() {
  const std::size_t size = length(kHelloHead, 0);
  if (in_.size() >= sizeof(kMagic) && load_le<std::uint64_t>(in_.data()) != kMagic)
    return fail(Code::bad_wire, "it does not speak this protocol");
  if (size > kHelloHead + kMostAddress) return fail(Code::bad_wire, "its address is too long");
  if (size == 0 || in_.size() < size) return State::pending;
  if (const Status read = decode_address(std::span(in_).subspan(kHelloHead, size - kHelloHead), peer_); !read.ok())
    return fail(read.code(), read.text());
  said_.assign(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(size));
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(size));
  std::array<std::byte, kNonce> nonce;
  if (const Status random = random_bytes(nonce); !random.ok()) return fail(random.code(), random.text());
  said_.insert(said_.end(), nonce.begin(), nonce.end());
  add_address(own_);
  out_.assign(said_.begin() + static_cast<std::ptrdiff_t>(size), said_.end());
  const Mac proof = mac('S');
  out_.insert(out_.end(), proof.begin(), proof.end());
  next_ = Next::proof;
  if (!flush()) return State::failed;
  return own_.cut_off() ? fail(Code::busy, "the upstream aggregator is not there") : State::pending;
}

Greeting::State Greeting::take_answer() {
  const std::size_t size = length(kAnswerHead, kMacSize);
  if (size > kAnswerHead + kMostAddress + kMacSize) return fail(Code::bad_wire, "its address is too long");
  if (size == 0 || in_.size() < size) return State::pending;
  const auto proof_at = in_.begin() + static_cast<std::ptrdiff_t>(size - kMacSize);
  said_.insert(said_.end(), in_.begin(), proof_at);
  if (!same_mac(mac('S'), std::span<const std::byte, kMacSize>(&*proof_at, kMacSize)))
    return fail(Code::refused, "it has another key");
  const auto address = std::span(in_).subspan(kAnswerHead, size - kAnswerHead - kMacSize);
  if (const Status read = decode_address(address, peer_); !read.ok()) return fail(read.code(), read.text());
  if (peer_.job_rank != kNoRank) return fail(Code::bad_peer, "it is no aggregator");
  if (peer_.id == own_.id) return fail(Code::bad_peer, "it is this one itself");
  if (own_.job_rank == kNoRank && !peer_.upstream.empty()) return fail(Code::bad_peer, "it has an upstream aggregator itself");
  if (peer_.cut_off()) return fail(Code::busy, "its upstream aggregator is not there: " + peer_.upstream);
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(size));
  const Mac proof = mac('C');
  secret_ = secret_from(mac('P'));
  out_.assign(proof.begin(), proof.end());
  next_ = Next::welcome;
  return flush() ? State::pending : State::failed;
}

Greeting::State Greeting::take_proof() {
  if (in_.size() < kMacSize) return State::pending;
  if (!same_mac(mac('C'), std::span<const std::byte, kMacSize>(in_.data(), kMacSize)))
    return fail(Code::refused, "it has another key");
  secret_ = secret_from(mac('P'));
  if (peer_.job_rank == kNoRank && !own_.upstream.empty())
    return fail(Code::bad_peer, "it is an aggregator, and this one has an upstream aggregator itself");
  out_.resize(sizeof(kMagic));
  store_le<std::uint64_t>(out_.data(), kMagic);
  next_ = Next::nothing;
  return flush() ? State::done : State::failed;
}

Greeting::State Greeting::take_welcome() {
  if (in_.size() < sizeof(kMagic)) return State::pending;
  if (load_le<std::uint64_t>(in_.data()) != kMagic) return fail(Code::bad_wire, "it does not speak this protocol");
  next_ = Next::nothing;
  return State::done;
}

Mac Greeting::mac(char role) const {
  Bytes text{static_cast<std::byte>(role)};
  text.insert(text.end(), said_.begin(), said_.end());
  return hmac_sha256(key_, text);
}

}  // namespace nezha
