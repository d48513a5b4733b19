// SPDX-License-Identifier: BSD-3-Clause
/// Connections that the test has in its own hands: strangers to a transport, and lanes whose bytes pass through the test.
#pragma once

#include "tcp_pair.h"

namespace nezha::test {

/// A blocking socket without a transport behind it: a stranger, or one half of somebody in the middle.
class Stranger {
 public:
  explicit Stranger(const RailAddress& to) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    TcpPlace place;
    EXPECT_TRUE(read_place(to, place));
    const SocketAddress address(place);
    EXPECT_EQ(::connect(fd_.get(), address.get(), address.size), 0);
  }
  explicit Stranger(Fd fd) : fd_(std::move(fd)) {}

  template <typename Bytes>
  void say(const Bytes& bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// What is there now; empty: nothing yet. `over` when the other side has closed.
  std::vector<std::byte> hear(bool& over) {
    std::vector<std::byte> bytes(64 * 1024);
    const ssize_t got = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    over = got == 0 || (got < 0 && errno != EAGAIN);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  bool closed() {
    bool over = false;
    hear(over);
    return over;
  }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

/// A listener of the test's own.
class Trap {
 public:
  Trap() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    SocketAddress at(4, {127, 0, 0, 1}, 0);
    EXPECT_EQ(bind(fd_.get(), at.get(), at.size), 0);
    EXPECT_EQ(listen(fd_.get(), 8), 0);
    EXPECT_EQ(getsockname(fd_.get(), at.get(), &at.size), 0);
    address = tcp_address({"trap", "lo", 4, {127, 0, 0, 1}, 32, 0}, at.port());
  }
  Fd accept() { return Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

  RailAddress address;

 private:
  Fd fd_;
};

/// Carries bytes between a connecting and an accepting transport, and keeps what the former said.
class InTheMiddle {
 public:
  InTheMiddle(Fd from_one, const RailAddress& to_other) : one_(std::move(from_one)), other_(to_other) {}

  void carry() {
    bool over = false;
    const auto there = one_.hear(over);
    said.insert(said.end(), there.begin(), there.end());
    if (!there.empty()) other_.say(there);
    const auto back = other_.hear(over);
    if (!back.empty()) one_.say(back);
  }
  Stranger& to_one() { return one_; }
  Stranger& to_other() { return other_; }

  std::vector<std::byte> said;

 private:
  Stranger one_, other_;
};

/// A lane whose bytes pass through the test.
class TcpThrough : public TcpPair {
 protected:
  void SetUp() override {
    Trap trap;
    connect(0, trap.address);
    Fd from_a;
    ASSERT_TRUE(drive([&] { return bool(from_a = trap.accept()); }, a, b));
    middle = std::make_unique<InTheMiddle>(std::move(from_a), b.transport->rails()[0]);
    ASSERT_TRUE(drive([&] { return middle->carry(), a.lanes.size() == 1 && b.lanes.size() == 1; }, a, b));
  }

  std::unique_ptr<InTheMiddle> middle;
};

}  // namespace nezha::test
