// SPDX-License-Identifier: BSD-3-Clause
/// How the members of a team on one node get their shared memory, and who does not get it.
#include "node/segment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

#include "node/node_socket.h"
#include "node_team.h"
#include "open_descriptors.h"

namespace nezha::test {
namespace {

/// True when this process has mapped memory of a team.
bool maps_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:nezha") != std::string::npos) return true;
  return false;
}

class SegmentTest : public testing::Test {
 protected:
  SegmentTest() { EXPECT_TRUE(acceptor_.open().ok()); }

  void make(const SegmentSpec& spec) {
    segments_.push_back(std::make_unique<Segment>(spec, acceptor_, find_node_secret));
  }
  void join(const SegmentSpec& spec, const Secret& secret) {
    segments_.push_back(std::make_unique<Segment>(spec, acceptor_.name(), secret));
  }
  void team_of(std::uint32_t members) {
    make(segment_spec(members, 0));
    for (std::uint32_t i = 1; i < members; ++i) join(segment_spec(members, i), node_secret(i));
  }
  void progress(Nanoseconds now = 0) {
    acceptor_.progress(now);
    for (const auto& segment : segments_) segment->progress(now);
  }
  void progress_for_long() {
    for (int i = 0; i < 30; ++i) progress();
  }
  Segment& member(std::size_t index) { return *segments_[index]; }

  NodeAcceptor acceptor_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

TEST_F(SegmentTest, MembersShareOneMemory) {
  const auto before = open_descriptors();
  team_of(4);
  progress_for_long();
  for (const auto& segment : segments_) {
    ASSERT_EQ(segment->state(), Segment::State::ready) << segment->why().text();
    EXPECT_EQ(segment->access(), NodeAccess::single_copy) << segment->why_copies();
  }
  member(2).memory().advance(member(2).memory().lines(2).flags.taken, 5);
  EXPECT_EQ(NodeMemory::load(member(0).memory().lines(2).flags.taken), 5u);
  EXPECT_EQ(open_descriptors() - before, 2 * 3);  // connections; the memory needs none any more
  EXPECT_EQ(acceptor_.pending(), 0u);
  segments_.clear();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(SegmentTest, MembersThatComeFirstWaitForTheMaker) {
  join(segment_spec(2, 1), node_secret(1));
  progress_for_long();
  EXPECT_EQ(member(0).state(), Segment::State::joining);
  make(segment_spec(2, 0));
  progress_for_long();
  EXPECT_EQ(member(0).state(), Segment::State::ready);
  EXPECT_EQ(member(1).state(), Segment::State::ready);
}

TEST_F(SegmentTest, TeamsOfOneProcessAreApart) {
  team_of(2);
  SegmentSpec other = segment_spec(2, 0);
  other.team = 4712;
  make(other);
  other.self = 1;
  join(other, node_secret(1));
  progress_for_long();
  for (const auto& segment : segments_) EXPECT_EQ(segment->state(), Segment::State::ready);
  member(1).memory().advance(member(1).memory().lines(1).flags.taken, 5);
  EXPECT_EQ(NodeMemory::load(member(2).memory().lines(1).flags.taken), 0u);
}

TEST_F(SegmentTest, OneThatMayOnlyCopyMakesAllCopy) {
  make(segment_spec(3, 0));
  join(segment_spec(3, 1), node_secret(1));
  SegmentSpec copies = segment_spec(3, 2);
  copies.allowed = NodeAccess::copies;
  join(copies, node_secret(2));
  progress_for_long();
  for (const auto& segment : segments_) {
    ASSERT_EQ(segment->state(), Segment::State::ready);
    EXPECT_EQ(segment->access(), NodeAccess::copies);
    EXPECT_NE(segment->why_copies(), "");
  }
}

TEST_F(SegmentTest, WrongSecretGetsNothing) {
  make(segment_spec(2, 0));
  join(segment_spec(2, 1), node_secret(9));
  progress_for_long();
  EXPECT_EQ(member(1).state(), Segment::State::absent);
  EXPECT_NE(member(1).why().text().find("secret"), std::string::npos) << member(1).why().text();
  EXPECT_EQ(member(0).state(), Segment::State::joining);
}

/// The maker checks too: this one answers the challenge without looking at it.
TEST_F(SegmentTest, WrongProofGetsNothing) {
  make(segment_spec(2, 0));
  Fd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
  const NodeSocketAddress address(acceptor_.name());
  ASSERT_EQ(connect(connection.get(), address.get(), address.size()), 0);
  const NodeHello hello{.team = 4711, .member = 1, .members = 2, .size = NodeLayout(2, 16 * 1024).size()};
  ASSERT_TRUE(send_node_message(connection, write_node_hello(hello)).ok());
  progress();
  std::array<std::byte, kNodeChallenge> challenge;
  ASSERT_EQ(receive_node_message(connection, challenge), NodeReceived::message);
  // What the maker has said of itself is no proof of this side.
  ASSERT_TRUE(send_node_message(connection, std::span(challenge).subspan<kNodeNonce>()).ok());
  progress();
  std::byte answer{};
  Fd memory;
  EXPECT_EQ(receive_node_message(connection, std::span(&answer, 1), &memory), NodeReceived::closed);
  EXPECT_FALSE(memory);
}

TEST_F(SegmentTest, MembersThatDifferAreTold) {
  make(segment_spec(2, 0));
  SegmentSpec other = segment_spec(2, 1);
  other.chunk = 64 * 1024;
  join(other, node_secret(1));
  progress_for_long();
  EXPECT_EQ(member(1).state(), Segment::State::absent);
  EXPECT_NE(member(1).why().text().find("another size"), std::string::npos) << member(1).why().text();
}

TEST_F(SegmentTest, NobodyAtTheSocketIsKnownAtOnce) {
  segments_.push_back(std::make_unique<Segment>(segment_spec(2, 1), NodeName{}, node_secret(1)));
  progress();
  EXPECT_EQ(member(0).state(), Segment::State::absent);
  EXPECT_NE(member(0).why().text().find("namespace"), std::string::npos) << member(0).why().text();
}

TEST_F(SegmentTest, NetworkNamespaceOfItsOwnHasNoSharedMemory) {
  make(segment_spec(2, 0));
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0) _exit(77);
    Segment alone(segment_spec(2, 1), acceptor_.name(), node_secret(1));
    _exit(alone.progress(0) == Segment::State::absent ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no permission to make a network namespace";
  EXPECT_EQ(status, 0);
}

TEST_F(SegmentTest, MemberThatNeverComesIsNamedAtTheDeadline) {
  make(segment_spec(3, 0, kSecond));
  join(segment_spec(3, 1, kSecond), node_secret(1));
  progress_for_long();
  progress(kSecond);
  for (const auto& segment : segments_) {
    EXPECT_EQ(segment->state(), Segment::State::absent);
  }
  EXPECT_NE(member(0).why().text().find("local member 2"), std::string::npos) << member(0).why().text();
}

TEST_F(SegmentTest, MakerThatNeverAnswersIsGivenUp) {
  join(segment_spec(2, 1, kSecond), node_secret(1));
  progress(kSecond - 1);
  EXPECT_EQ(member(0).state(), Segment::State::joining);
  progress(kSecond);
  EXPECT_EQ(member(0).state(), Segment::State::absent);
  EXPECT_EQ(member(0).why().code(), Code::timed_out);
}

TEST_F(SegmentTest, MemberThatGaveUpEndsItForAll) {
  team_of(3);
  progress();
  progress();
  acceptor_.progress(0);
  member(2).progress(0);  // it has the memory, and the others have not seen that yet
  segments_.pop_back();
  progress_for_long();
  for (const auto& segment : segments_) EXPECT_EQ(segment->state(), Segment::State::absent);
}

TEST_F(SegmentTest, LeavingIsNotDying) {
  team_of(2);
  progress_for_long();
  ASSERT_EQ(member(0).state(), Segment::State::ready);
  segments_.pop_back();
  progress_for_long();
  EXPECT_EQ(member(0).memory().gone(1), NodeEnd::left);
}

/// Where one may only copy after a rest: the other looks for what it has found in the meantime.
struct RestingSystem : NodeSystem {
  int read(pid_t process, std::uint64_t from, std::byte* to, std::size_t bytes) const override {
    resting = true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return NodeSystem::read(process, from, to, bytes);
  }
  mutable std::atomic<bool> resting = false;
};

/// Runs on the one processor where it is until the end of its life.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_getaffinity(0, sizeof(before_), &before_);
    sched_setaffinity(0, sizeof(here), &here);
  }
  ~OnOneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_;
};

/// Whoever leaves does so between any two steps of the other, since it wakes up on the other's processor.
TEST_F(SegmentTest, MayBeLeftAsSoonAsAllAgree) {
  const OnOneProcessor alone;
  for (int round = 0; round < 300; ++round) {
    segments_.clear();
    RestingSystem system;
    make(segment_spec(2, 0));
    SegmentSpec leaver = segment_spec(2, 1);
    leaver.system = &system;
    std::thread leaves([&, segment = std::make_unique<Segment>(leaver, acceptor_.name(), node_secret(1))]() mutable {
      while (segment->progress(0) == Segment::State::joining) continue;
      segment.reset();
    });
    while (!system.resting) progress();
    while (member(0).progress(0) == Segment::State::joining) continue;
    leaves.join();
    ASSERT_EQ(member(0).state(), Segment::State::ready) << "round " << round << ": " << member(0).why().text();
  }
}

/// A child that ends by itself takes with it what it has inherited, and its parent is still there.
TEST_F(SegmentTest, ForkedChildDoesNotLeaveForItsParent) {
  team_of(2);
  progress_for_long();
  const pid_t child = fork();
  if (child == 0) {
    segments_.clear();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  progress(kSecond);
  for (const std::uint32_t index : {0, 1}) EXPECT_EQ(member(0).memory().gone(index), NodeEnd::none);
}

/// What a child that stays has mapped would not be given back when the team is gone.
TEST_F(SegmentTest, ForkedChildDoesNotKeepTheMemory) {
  team_of(2);
  progress_for_long();
  ASSERT_TRUE(maps_shared_memory());
  const pid_t child = fork();
  if (child == 0) _exit(maps_shared_memory() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SegmentTest, RubbishAtTheSocketHarmsNobody) {
  const auto before = open_descriptors();
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    Fd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    const NodeSocketAddress address(acceptor_.name());
    ASSERT_EQ(connect(connection.get(), address.get(), address.size()), 0);
    std::vector<std::byte> rubbish(i % 3 == 0 ? kNodeHello : random() % 200);
    for (std::byte& byte : rubbish) byte = static_cast<std::byte>(random());
    NodeHelloBytes hello =
        write_node_hello({.team = 4711, .member = static_cast<std::uint32_t>(random()), .members = 2});
    if (i % 4 == 0) rubbish.assign(hello.begin(), hello.end());
    (void)send_node_message(connection, rubbish, i % 2 == 0 ? connection.get() : -1);
    acceptor_.progress(0);
  }
  team_of(2);
  progress_for_long();
  EXPECT_EQ(member(0).state(), Segment::State::ready);
  EXPECT_EQ(member(1).state(), Segment::State::ready);
  segments_.clear();
  acceptor_.progress(NodeAcceptor::kHandshakeTime);
  EXPECT_EQ(acceptor_.pending(), 0u);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(NodeGreeting, HelloComesBackAndRubbishDoesNot) {
  NodeHello hello{.team = 1, .member = 2, .members = 3, .size = 4}, read;
  hello.nonce[15] = std::byte{5};
  ASSERT_TRUE(read_node_hello(write_node_hello(hello), read).ok());
  EXPECT_EQ(read.team, 1u);
  EXPECT_EQ(read.member, 2u);
  EXPECT_EQ(read.members, 3u);
  EXPECT_EQ(read.size, 4u);
  EXPECT_EQ(read.nonce, hello.nonce);
  for (const std::size_t at : {0, 4, 6}) {
    NodeHelloBytes bytes = write_node_hello(hello);
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(read_node_hello(bytes, read).ok());
  }
  EXPECT_FALSE(read_node_hello(write_node_hello({.member = 3, .members = 3}), read).ok());
}

}  // namespace
}  // namespace nezha::test
