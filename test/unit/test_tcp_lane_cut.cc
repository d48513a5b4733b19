// SPDX-License-Identifier: BSD-3-Clause
/// What a lane does with a connection that ends or brings nonsense, and with memory that is taken back.
#include <gtest/gtest.h>

#include <algorithm>

#include "rail/frame.h"
#include "random_bytes.h"
#include "tcp_through.h"

namespace nezha::test {
namespace {

class TcpCutTest : public TcpThrough {
 protected:
  void reset() {
    const linger at_once{1, 0};
    setsockopt(middle->to_one().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    middle.reset();
  }
};

TEST_F(TcpCutTest, ACutConnectionIsDownOnBothSides) {
  const Bytes payload(1000);
  const Gather part{payload.data(), payload.size()};
  a.lanes[0]->send(Bytes(10), {&part, 1});
  bool over = false;
  Bytes said;
  ASSERT_TRUE(drive([&] { return !(said = middle->to_one().hear(over)).empty(); }, a, b));
  said.resize(500);
  middle->to_other().say(said);
  middle.reset();
  ASSERT_TRUE(drive([&] { return !a.logs[0]->downs.empty() && !b.logs[0]->downs.empty(); }, a, b));
  EXPECT_NE(b.logs[0]->downs[0].find("in the middle of a frame"), std::string::npos) << b.logs[0]->downs[0];
  EXPECT_NE(a.logs[0]->downs[0].find("(tcp/trap)"), std::string::npos) << a.logs[0]->downs[0];
}

TEST_F(TcpCutTest, AResetIsSaidToBeOne) {
  reset();
  ASSERT_TRUE(drive([&] { return !a.logs[0]->downs.empty(); }, a));
  EXPECT_NE(a.logs[0]->downs[0].find("receiving: Connection reset by peer"), std::string::npos) << a.logs[0]->downs[0];
}

/// Who sends takes the error away: afterwards the socket only says that it is closed.
TEST_F(TcpCutTest, AResetThatASendMeetsIsSaidToBeOne) {
  reset();
  Lane::Sent sent = Lane::Sent::whole;
  for (int i = 0; i < 5000 && (sent = a.lanes[0]->send(Bytes(10), {})) == Lane::Sent::whole; ++i) poll(nullptr, 0, 1);
  EXPECT_EQ(sent, Lane::Sent::down) << "its trunk sends elsewhere at once";
  ASSERT_TRUE(drive([&] { return !a.logs[0]->downs.empty(); }, a));
  EXPECT_NE(a.logs[0]->downs[0].find("sending: Connection reset by peer"), std::string::npos) << a.logs[0]->downs[0];
}

TEST_F(TcpCutTest, ABadFrameClosesThatLane) {
  Bytes frame(kEnvelopeSize + 10);
  write_envelope(frame.data(), std::span(frame).subspan(kEnvelopeSize), 0);
  frame.back() ^= std::byte{1};
  middle->to_other().say(frame);
  ASSERT_TRUE(drive([&] { return !b.logs[0]->downs.empty(); }, a, b));
  EXPECT_NE(b.logs[0]->downs[0].find("checksum"), std::string::npos) << b.logs[0]->downs[0];
  EXPECT_TRUE(b.logs[0]->frames.empty());
}

TEST_F(TcpCutTest, ARedirectedSegmentIsNotTouchedAgain) {
  constexpr std::size_t kHalf = kMaxFramePayload / 2;
  constexpr std::size_t kEarly = 1000;
  FrameLog& receiver = *b.logs[0];
  Bytes places[2] = {Bytes(kHalf), Bytes(kHalf)};
  receiver.lay_out = [&](ScatterList& into, Bytes&) {
    for (Bytes& place : places) into.segments[into.count++] = {place.data(), kHalf};
  };
  bool begun = false;
  receiver.on_begin = [&](Lane&) { return begun = true, Status{}; };
  Random random(1);
  const Bytes payload = random_contents(random, 2 * kHalf);
  Bytes frame(kEnvelopeSize);
  write_envelope(frame.data(), {}, payload.size());
  frame.insert(frame.end(), payload.begin(), payload.begin() + kEarly);
  middle->to_other().say(frame);
  ASSERT_TRUE(drive([&] { return begun; }, b));
  settle(b);

  const Bytes untouched(kHalf, std::byte{0xaa});
  b.lanes[0]->redirect(1);
  b.lanes[0]->redirect(2);
  places[1] = untouched;
  for (std::size_t at = kEarly; at < payload.size();) {
    const std::size_t part = std::min<std::size_t>(8192, payload.size() - at);
    middle->to_other().say(std::span(payload).subspan(at, part));
    at += part;
    if (at >= kHalf / 2 && at - part < kHalf / 2) {
      settle(b);
      EXPECT_TRUE(std::equal(places[0].begin(), places[0].begin() + static_cast<std::ptrdiff_t>(at), payload.begin()));
      b.lanes[0]->redirect(0);
      places[0] = untouched;
    }
    b.transport->progress(Watch::all);
  }
  ASSERT_TRUE(drive([&] { return receiver.frames.size() == 1; }, b));
  EXPECT_TRUE(places[0] == untouched);
  EXPECT_TRUE(places[1] == untouched);
  EXPECT_EQ(b.lanes[0]->send({}, {}), Lane::Sent::whole) << "the lane goes on";
}

}  // namespace
}  // namespace nezha::test
