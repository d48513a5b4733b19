// SPDX-License-Identifier: BSD-3-Clause
/// What a lane costs in the steady state: no allocation, and a bounded receive buffer.
#include <gtest/gtest.h>

#include <array>

#include "count_allocations.h"
#include "random_bytes.h"
#include "rail/frame.h"
#include "tcp_pair.h"

namespace nezha::test {
namespace {

/// Receives into fixed memory and keeps nothing.
class Sink final : public LaneEvents {
 public:
  Status frame_begins(Lane&, std::span<const std::byte>, std::size_t payload, ScatterList& into) override {
    into.segments[0] = {memory_.data(), payload};
    into.count = 1;
    return {};
  }
  Status frame_ends(Lane&) override { return ++frames, Status{}; }
  void lane_free(Lane&) override {}
  void lane_down(Lane&, const Status&) override {}

  std::size_t frames = 0;

 private:
  Bytes memory_ = Bytes(kMaxFramePayload);
};

class SinkSide final : public Admission {
 public:
  const std::array<std::uint8_t, 32>* secret(ProcessId) const override { return &secret_; }
  bool expects(const LaneSpec&) const override { return true; }
  LaneEvents& lane_up(Lane& up) override { return lane = &up, sink; }
  void lane_failed(const LaneSpec&, const Status&) override {}

  Sink sink;
  Lane* lane = nullptr;
  std::unique_ptr<Transport> transport;

 private:
  std::array<std::uint8_t, 32> secret_{};
};

TEST(TcpSteady, NothingIsAllocatedPerFrame) {
  HandClock clock;
  DiscoverOptions choice;
  choice.single_node = 1;
  SinkSide a, b;
  a.transport = make_tcp_transport({}, choose_interfaces({}, choice).chosen, clock, {}, a, 1, nullptr);
  b.transport = make_tcp_transport({}, choose_interfaces({}, choice).chosen, clock, {}, b, 2, nullptr);
  a.transport->connect({2, 0, 0, true}, 0, b.transport->rails()[0], clock.now() + kSecond);
  ASSERT_TRUE(drive([&] { return a.lane != nullptr && b.lane != nullptr; }, a, b));
  const Bytes payload(kMaxFramePayload);
  const Bytes header(40);
  std::size_t sent = 0;
  const auto send_some = [&](std::size_t until) {
    while (sent < until && !a.lane->busy()) {
      const Gather part{payload.data(), sent % 3 == 0 ? kMaxFramePayload : sent % 5000};
      a.lane->send(header, {&part, 1});
      a.lane->own_rest();
      a.lane->fill();
      a.lane->min_rtt();
      ++sent;
    }
  };
  const auto run = [&](std::size_t until) {
    while (b.sink.frames < until) {
      send_some(until);
      a.transport->progress(Watch::all);
      b.transport->progress(Watch::all);
      a.transport->next_deadline();
      clock.advance(kMillisecond);
    }
  };
  run(100);
  const std::size_t before = allocations();
  run(2000);
  EXPECT_EQ(allocations() - before, 0U);
}

/// A lane over which much has gone, with a receive buffer that may have so many bytes.
class TcpMemory : public testing::Test {
 protected:
  TcpMemory() {
    a.known = 2, b.known = 1;
    a.transport->connect({2, 0, 0, true}, 0, b.transport->rails()[0], clock.now() + kSecond);
  }
  bool up() {
    return drive([&] { return a.lanes.size() == 1 && b.lanes.size() == 1; }, a, b);
  }
  /// Sends frames until b has read 50 more.
  bool carry_much() {
    b.logs[0]->frames.clear();
    return drive([&] { return send_all() >= 50; }, a, b) && drive([&] { return !a.lanes[0]->busy(); }, a, b) &&
           drive([&] { return a.lanes[0]->fill() == 0; }, a, b);
  }
  /// What a's kernel got rid of while b read nothing: it lies in b's.
  std::size_t unread() {
    Lane& lane = *a.lanes[0];
    const Gather part{payload.data(), payload.size()};
    std::size_t sent = 0;
    for (int wait = 0; wait < 300; ++wait) {
      if (!lane.busy() && sent < 4) lane.send({}, {&part, 1}), ++sent;
      a.transport->progress(Watch::all);
      poll(nullptr, 0, 1);
    }
    return sent * (kEnvelopeSize + payload.size()) - lane.fill();
  }

 private:
  std::size_t send_all() {
    const Gather part{payload.data(), payload.size()};
    while (!a.lanes[0]->busy()) a.lanes[0]->send({}, {&part, 1});
    return b.logs[0]->frames.size();
  }

 protected:
  static TcpOptions bounded() {
    TcpOptions options;
    options.lane_memory = 512 * 1024;
    return options;
  }

  HandClock clock;
  const Bytes payload = Bytes(kMaxFramePayload);
  Side a{1, clock, bounded(), 1}, b{2, clock, bounded(), 1};
};

/// Receive buffers of this process's connections, in the order of their descriptors.
std::vector<int> receive_buffers() {
  std::vector<int> sizes;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    int size = 0;
    socklen_t width = sizeof size;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.ss_family == AF_INET &&
        getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &width) == 0)
      sizes.push_back(size);
  }
  return sizes;
}

/// What the other side was allowed to send is dropped where there is no room for it any more.
TEST_F(TcpMemory, ABufferHasItsSizeFromTheBeginning) {
  ASSERT_TRUE(up());
  const std::vector<int> before = receive_buffers();
  EXPECT_EQ(before.size(), 2U);
  ASSERT_TRUE(carry_much());
  EXPECT_EQ(receive_buffers(), before);
}

TEST_F(TcpMemory, UnreadBytesAreBounded) {
  ASSERT_TRUE(up());
  ASSERT_TRUE(carry_much());
  EXPECT_LE(unread(), 512 * 1024u);
}

TEST_F(TcpMemory, ALaneThatIsUpIsBoundedMoreNarrowly) {
  ASSERT_TRUE(up());
  ASSERT_TRUE(carry_much());
  b.transport->bound_lanes(1);  // less than a lane within a node needs
  ASSERT_TRUE(carry_much());
  EXPECT_LE(unread(), 256 * 1024u);
  EXPECT_TRUE(carry_much()) << "and is no slower than it was";
}

}  // namespace
}  // namespace nezha::test
