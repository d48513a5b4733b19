// SPDX-License-Identifier: BSD-3-Clause
/// Members of a node as processes: memory handed from one to the others, vectors read from other processes, and a
/// member that is killed in the middle of its work.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "node_members.h"
#include "node_team.h"
#include "open_descriptors.h"
#include "slowed_down.h"

namespace nezha::test {
namespace {

/// Other programs have some there too, which come and go.
std::set<std::string> shared_files() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    if (entry.path().string().find("nezha") != std::string::npos) names.insert(entry.path());
  }
  return names;
}

/// True when this process has mapped memory that lies behind a name.
bool maps_a_shared_file() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm") != std::string::npos) return true;
  }
  return false;
}

/// Counts what children do.
class SharedCount {
 public:
  SharedCount()
      : count_(static_cast<std::uint32_t*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedCount() { munmap(count_, 4096); }
  SharedCount(const SharedCount&) = delete;
  void add() const { std::atomic_ref(*count_).fetch_add(1); }
  std::uint32_t get() const { return std::atomic_ref(*count_).load(); }

 private:
  std::uint32_t* count_;
};

/// One process per member; ends what is left of them.
class Processes {
 public:
  using Body = std::function<void(Segment& segment)>;

  Processes(std::uint32_t members, NodeAccess allowed, const Body& body) : pids_(members) {
    auto acceptor = std::make_unique<NodeAcceptor>();
    EXPECT_TRUE(acceptor->open().ok());
    for (std::uint32_t member = 0; member < members; ++member) {
      pids_[member] = fork();
      if (pids_[member] != 0) continue;
      alarm(120);
      const NodeName name = acceptor->name();
      if (member != 0) acceptor.reset();
      run(acceptor.get(), name, members, member, allowed, body);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid > 0 && kill(pid, SIGKILL) == 0) waitpid(pid, nullptr, 0);
    }
  }

  void kill_member(std::uint32_t member) { kill(pids_[member], SIGKILL); }
  int wait_for(std::uint32_t member) {
    int status = 0;
    if (waitpid(pids_[member], &status, 0) != pids_[member]) return -1;
    pids_[member] = 0;
    return status;
  }

 private:
  static void run(NodeAcceptor* acceptor, const NodeName& name, std::uint32_t members, std::uint32_t self,
                  NodeAccess allowed, const Body& body) {
    SegmentSpec spec = segment_spec(members, self, real_now() + 60 * kSecond);
    spec.allowed = allowed;
    const auto segment = acceptor != nullptr ? std::make_unique<Segment>(spec, *acceptor, find_node_secret)
                                             : std::make_unique<Segment>(spec, name, node_secret(self));
    while (segment->state() == Segment::State::joining) {
      if (acceptor != nullptr) acceptor->progress(real_now());
      segment->progress(real_now());
      sched_yield();
    }
    ASSERT_EQ(segment->state(), Segment::State::ready) << segment->why().text();
    body(*segment);
  }

  std::vector<pid_t> pids_;
};

NodeStageOptions options_of(Segment& segment) {
  return {.access = segment.access(), .single_copy_from = 0, .single_copy_chunk = 64 * 1024};
}

class NodeProcessesTest : public testing::TestWithParam<NodeAccess> {};
INSTANTIATE_TEST_SUITE_P(Ways, NodeProcessesTest, testing::Values(NodeAccess::copies, NodeAccess::single_copy),
                         [](const auto& way) {
                           return std::string(way.param == NodeAccess::copies ? "copies" : "single");
                         });

TEST_P(NodeProcessesTest, OperationsInARow) {
  const auto descriptors = open_descriptors();
  const auto files = shared_files();
  for (const std::uint32_t members : {2, 4}) {
    std::mt19937 random(members);
    std::vector<NodeCase> cases;
    for (int i = 0; i < fewer(60); ++i) {
      NodeCase next{.count = 1 + random() % (i % 10 == 0 ? 1024 * 1024 : 20000),
                    .in_place = random() % 2 == 0,
                    .seed = static_cast<unsigned>(random()),
                    .carriers = {}};
      if (i % 3 == 0) next.carriers = {members - 1, 0};
      cases.push_back(std::move(next));
    }
    Processes processes(members, GetParam(), [&](Segment& segment) {
      if (segment.access() != GetParam()) _exit(77);
      EXPECT_FALSE(maps_a_shared_file());
      NodeRank rank(segment.memory(), options_of(segment));
      for (const NodeCase& each : cases) {
        rank.begin(each);
        rank.expect(node_expected(each, members));
      }
    });
    EXPECT_EQ(shared_files(), files);
    bool skipped = false;
    for (std::uint32_t member = 0; member < members; ++member) {
      const int status = processes.wait_for(member);
      skipped |= WIFEXITED(status) && WEXITSTATUS(status) == 77;
      EXPECT_TRUE(status == 0 || skipped) << "member " << member << " ended with " << status;
    }
    if (skipped) GTEST_SKIP() << "this system does not let processes read each other's memory";
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(shared_files(), files);
}

/// The others are told who it was, whoever it was, the maker of the memory included.
TEST_P(NodeProcessesTest, KilledMemberFailsTheOthers) {
  constexpr std::uint32_t kMembers = 3;
  const auto files = shared_files();
  for (const std::size_t count : {100, 300000}) {
    for (std::uint32_t victim = 0; victim < kMembers; ++victim) {
      const SharedCount at_work;
      Processes processes(kMembers, GetParam(), [&](Segment& segment) {
        NodeRank rank(segment.memory(), options_of(segment));
        rank.set_chore([&] { segment.progress(real_now()); });
        for (int calls = 0; rank.stage().failed().ok(); ++calls) {
          rank.begin({.type = NEZHA_FLOAT, .count = count, .carriers = {}});
          rank.finish();
          if (calls == 3) at_work.add();
        }
        EXPECT_EQ(rank.stage().failed_member(), victim) << rank.stage().failed().text();
        EXPECT_EQ(rank.stage().failed().code(), Code::closed) << rank.stage().failed().text();
      });
      while (at_work.get() < kMembers) usleep(1000);
      usleep(static_cast<useconds_t>(victim) * 777);
      processes.kill_member(victim);
      for (std::uint32_t member = 0; member < kMembers; ++member) {
        const int status = processes.wait_for(member);
        if (member == victim) {
          EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        } else {
          EXPECT_EQ(status, 0) << "member " << member << ", victim " << victim;
        }
      }
    }
  }
  EXPECT_EQ(shared_files(), files);
}

/// Goes on with `body` in another thread, and ends the calling one, the first of the process.
[[noreturn]] void go_on_without_the_first_thread(const std::function<void()>& body) {
  std::thread other([&body] {
    char from = 0, to = 0;
    const iovec local{&to, 1}, remote{&from, 1};
    while (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) > 0) sched_yield();
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  });
  other.detach();
  syscall(SYS_exit, 0);  // and not pthread_exit(), which destroys what `body` refers to
  std::abort();
}

/// Its vectors can be read still, and nobody takes it for dead.
TEST(NodeProcesses, MemberWithoutItsFirstThreadIsThere) {
  Processes processes(2, NodeAccess::single_copy, [&](Segment& segment) {
    if (segment.access() != NodeAccess::single_copy) _exit(77);
    const auto operate = [&segment] {
      NodeRank rank(segment.memory(), options_of(segment));
      for (int calls = 0; calls < 10 && rank.stage().failed().ok(); ++calls) {
        segment.progress(real_now() + calls * kSecond);  // each time it looks at the other
        const NodeCase wanted{.count = calls % 2 == 0 ? 100u : 100000u, .carriers = {}};
        rank.begin(wanted);
        rank.expect(node_expected(wanted, 2));
      }
    };
    if (segment.memory().self() == 1) go_on_without_the_first_thread(operate);
    operate();
  });
  for (const std::uint32_t member : {0, 1}) {
    const int status = processes.wait_for(member);
    EXPECT_TRUE(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 77)) << member;
  }
}

/// A child that it forked holds all that it had open.
TEST(NodeProcesses, KilledMemberWithAChildFailsTheOthers) {
  for (const std::uint32_t victim : {0, 1}) {
    const SharedCount at_work, over;
    Processes processes(3, NodeAccess::single_copy, [&](Segment& segment) {
      if (segment.access() != NodeAccess::single_copy) _exit(77);
      if (segment.memory().self() == victim && fork() == 0) {
        for (int i = 0; i < 60000 && over.get() == 0; ++i) usleep(1000);
        _exit(0);
      }
      NodeRank rank(segment.memory(), options_of(segment));
      rank.set_chore([&] { segment.progress(real_now()); });
      for (int calls = 0; rank.stage().failed().ok(); ++calls) {
        rank.begin({.type = NEZHA_FLOAT, .count = 100, .carriers = {}});
        rank.finish();
        if (calls == 3) at_work.add();
      }
      EXPECT_EQ(rank.stage().failed_member(), victim) << rank.stage().failed().text();
    });
    for (int i = 0; i < 10000 && at_work.get() < 3; ++i) usleep(1000);
    processes.kill_member(victim);
    for (std::uint32_t member = 0; member < 3; ++member) {
      const int status = processes.wait_for(member);
      EXPECT_TRUE(member == victim || status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 77)) << member;
    }
    over.add();
  }
}

}  // namespace
}  // namespace nezha::test
