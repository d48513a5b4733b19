// SPDX-License-Identifier: BSD-3-Clause
/// Lanes whose rail has a worker: large frames are left to it, and come back whatever it has done by then.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "engine/worker_thread.h"
#include "random_bytes.h"
#include "rail/frame.h"
#include "tcp_pair.h"

namespace nezha::test {
namespace {

using Frame = FrameLog::Frame;

/// Runs a task when the test says so.
class HandWorker final : public RailWorker {
 public:
  void submit(Task& task) override { queue.push_back(&task); }
  bool cancel(Task& task) override {
    const auto found = std::find(queue.begin(), queue.end(), &task);
    if (found == queue.end()) return true;
    queue.erase(found);
    return false;
  }
  void run() {
    queue.front()->run();
    queue.pop_front();
  }

  std::deque<Task*> queue;
};

template <typename Worker>
class LaneWithWorker : public TcpPair {
 protected:
  void SetUp() override {
    ASSERT_TRUE(join());
    from = a.lanes[0], to = b.lanes[0];
    sender = a.logs[0].get(), receiver = b.logs[0].get();
    a.transport->employ(0, worker);
  }
  void TearDown() override {  // before the worker
    a.transport.reset();
    b.transport.reset();
  }

  Lane::Sent send(const Bytes& records, const Bytes& bytes) {
    const Gather part{bytes.data(), bytes.size()};
    return from->send(records, {&part, 1});
  }

  Random random{815};
  Worker worker;
  Lane *from = nullptr, *to = nullptr;
  FrameLog *sender = nullptr, *receiver = nullptr;
  const Bytes header = random_contents(random, 40), payload = random_contents(random, kMaxFramePayload);
};

class TcpLaneWorker : public LaneWithWorker<HandWorker> {
 protected:
  /// All frames have arrived, and the sender knows that the large ones are gone; the worker runs what is left to it.
  bool finish(std::size_t frames, int large) {
    const auto done = [&] {
      while (!worker.queue.empty()) worker.run();
      return receiver->frames.size() == frames && sender->freed == large;
    };
    return drive(done, a, b);
  }
};

TEST_F(TcpLaneWorker, OnlyLargeFramesAreLeftToIt) {
  EXPECT_EQ(send(header, Bytes(1000)), Lane::Sent::whole);
  EXPECT_TRUE(worker.queue.empty());
  EXPECT_EQ(send(header, payload), Lane::Sent::partly);
  EXPECT_TRUE(from->busy());
  EXPECT_EQ(worker.queue.size(), 1U);
  EXPECT_EQ(send(header, Bytes(1000)), Lane::Sent::busy);
  EXPECT_GE(from->fill(), payload.size());
  settle(a, b);
  EXPECT_EQ(sender->freed, 0) << "the worker has not run";
  worker.run();
  EXPECT_TRUE(from->busy()) << "until the lane has said that it is free";
  ASSERT_TRUE(finish(2, 1));
  EXPECT_FALSE(from->busy());
  EXPECT_TRUE(receiver->frames[1] == (Frame{header, payload}));
  EXPECT_EQ(send(header, Bytes(1000)), Lane::Sent::whole);
}

TEST_F(TcpLaneWorker, WhoSleepsIsWokenByTheEndOfItsCall) {
  send(header, payload);
  settle(a, b);
  pollfd fd{a.transport->wait_fd(Watch::all), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0);
  worker.run();
  EXPECT_EQ(poll(&fd, 1, 1000), 1);
  EXPECT_TRUE(a.transport->progress(Watch::all));
  EXPECT_TRUE(finish(1, 1));
}

TEST_F(TcpLaneWorker, AFullSocketGivesTheRestBack) {
  std::size_t count = 0;
  do {  // nobody reads
    ASSERT_EQ(send(header, payload), Lane::Sent::partly);
    ++count;
    worker.run();
    a.transport->progress(Watch::all);
  } while (!from->busy());
  EXPECT_EQ(sender->freed, static_cast<int>(count) - 1);
  ASSERT_TRUE(finish(count, static_cast<int>(count))) << "a large rest is left to it again";
  for (const Frame& frame : receiver->frames) EXPECT_TRUE(frame == (Frame{header, payload}));
}

TEST_F(TcpLaneWorker, AfterOwnRestTheSourceMayChangeBeforeItsCall) {
  Bytes source = payload;
  send(header, source);
  from->own_rest();
  EXPECT_TRUE(worker.queue.empty()) << "it does not run any more";
  EXPECT_TRUE(from->busy()) << "until the lane has said that it is free";
  std::fill(source.begin(), source.end(), std::byte{0xee});
  ASSERT_TRUE(finish(1, 1));
  EXPECT_TRUE(receiver->frames[0] == (Frame{header, payload}));
}

TEST_F(TcpLaneWorker, AfterOwnRestTheSourceMayChangeBehindItsCall) {
  std::size_t count = 0;
  Bytes source;
  do {  // the last one is taken only partly, or not at all
    source = payload;
    ++count;
    send(header, source);
    worker.run();
    from->own_rest();
    std::fill(source.begin(), source.end(), std::byte{0xee});
    a.transport->progress(Watch::all);
  } while (!from->busy());
  ASSERT_TRUE(finish(count, static_cast<int>(count)));
  for (const Frame& frame : receiver->frames) EXPECT_TRUE(frame == (Frame{header, payload}));
}

TEST_F(TcpLaneWorker, AClosedLaneIsTakenFromIt) {
  send(header, payload);
  from->close();
  EXPECT_TRUE(worker.queue.empty());
  EXPECT_EQ(send(header, payload), Lane::Sent::down);
  ASSERT_TRUE(drive([&] { return !receiver->downs.empty(); }, a, b));
  EXPECT_TRUE(receiver->frames.empty());
  EXPECT_EQ(sender->freed, 0);
}

TEST_F(TcpLaneWorker, ALaneForgottenAfterItsCallIsNotHeardOfAgain) {
  send(header, payload);
  worker.run();
  a.transport->forget(*from);
  settle(a, b);
  EXPECT_EQ(sender->freed, 0);
  EXPECT_TRUE(sender->downs.empty());
}

TEST_F(TcpLaneWorker, ABrokenConnectionThatItsCallFindsIsToldOnce) {
  b.transport.reset();
  EXPECT_EQ(send(header, Bytes(1000)), Lane::Sent::whole) << "is answered by a reset";
  ASSERT_EQ(send(header, payload), Lane::Sent::partly);
  poll(nullptr, 0, 10);
  worker.run();
  a.transport->progress(Watch::all);
  settle(a);
  ASSERT_EQ(sender->downs.size(), 1U);
  EXPECT_NE(sender->downs[0].find("sending"), std::string::npos) << sender->downs[0];
  EXPECT_EQ(sender->freed, 0);
}

TEST_F(TcpLaneWorker, ALaneLostBeforeItsCallIsTakenFromIt) {
  send(header, payload);
  b.transport.reset();
  ASSERT_TRUE(drive([&] { return !sender->downs.empty(); }, a));
  EXPECT_TRUE(worker.queue.empty()) << "a lane that is down refers to no source";
  EXPECT_EQ(sender->freed, 0);
}

/// With the engine's thread: all frames arrive, in order, whatever the lane is asked meanwhile.
class TcpLaneThread : public LaneWithWorker<WorkerThread> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(worker.start("nezha-test"));
    LaneWithWorker::SetUp();
  }
};

TEST_F(TcpLaneThread, AllFramesArrive) {
  constexpr std::size_t kFrames = 400;
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < 16; ++i)
    frames.push_back({random_contents(random, 40), random_contents(random, random() % kMaxFramePayload)});
  Bytes source;
  std::size_t sent = 0;
  bool source_free = true;
  const auto feed = [&] {
    source_free = source_free || !from->busy();
    if (!source_free && random() % 4 == 0) {
      from->own_rest();
      std::fill(source.begin(), source.end(), std::byte{0xee});
      source_free = true;
    }
    if (sent < kFrames && !from->busy()) {
      source = frames[sent % 16].payload;
      source_free = send(frames[sent % 16].header, source) == Lane::Sent::whole;
      ++sent;
    }
    from->fill();
    clock.advance(kMillisecond);
    from->pulse();
    return receiver->frames.size() == kFrames;
  };
  ASSERT_TRUE(drive(feed, a, b));
  for (std::size_t i = 0; i < kFrames; ++i) ASSERT_TRUE(receiver->frames[i] == frames[i % 16]) << "frame " << i;
}

TEST_F(TcpLaneThread, LanesEndWhileItHoldsThem) {
  for (int round = 0; round < 50; ++round) {
    const std::size_t up = a.lanes.size() - 1;
    from = a.lanes[up], receiver = b.logs[up].get();
    ASSERT_EQ(send(header, payload), Lane::Sent::partly);
    if (round % 3 == 0) {
      b.transport->forget(*b.lanes[up]);
      ASSERT_TRUE(drive([&] { return !a.logs[up]->downs.empty(); }, a, b));
      a.transport->forget(*from);
    } else {
      if (round % 3 == 1) from->close();
      a.transport->forget(*from);
      ASSERT_TRUE(drive([&] { return !receiver->downs.empty(); }, a, b));
      b.transport->forget(*b.lanes[up]);
    }
    ASSERT_TRUE(join());
  }
}

}  // namespace
}  // namespace nezha::test
