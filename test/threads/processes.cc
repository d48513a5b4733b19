// SPDX-License-Identifier: BSD-3-Clause
/// Ranks as processes, without MPI, for whoever wants to watch their system calls:
///
///   processes RANKS OPERATIONS BYTES [PARAMETER=VALUE]...
///
/// Prints "ready PID..." when the ranks are warm and do nothing, does the operations when it reads a line, prints
/// "done", and ends when it reads another. Exit status 0 when all ranks got right sums.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include "nezha/nezha.h"

namespace {

constexpr int kMostRanks = 16;
constexpr int kWarmUp = 200;

/// What all processes see. Zero at first.
struct Shared {
  std::atomic<int> arrived, round;
  std::atomic<int> warm, go, done, leave;
  std::size_t address_size[kMostRanks];
  unsigned char address[kMostRanks][4096];
  std::atomic<std::uint64_t> votes[2][NEZHA_VOTE_WORDS];
};

struct Job {
  int ranks;
  int operations;
  std::size_t count;
  std::vector<std::string> settings;
};

/// Waits without a futex: those are counted.
void wait_until(const std::atomic<int>& value, int wanted) {
  const timespec moment{0, 200000};
  while (value.load() < wanted) nanosleep(&moment, nullptr);
}

void barrier(Shared& shared, int ranks) {
  const int round = shared.round.load();
  if (shared.arrived.fetch_add(1) + 1 == ranks) {
    shared.arrived = 0;
    shared.round = round + 1;
  }
  wait_until(shared.round, round + 1);
}

class Process {
 public:
  Process(Shared& shared, const Job& job, int rank) : shared_(shared), job_(job), rank_(rank) {}

  /// The exit status.
  int run() {
    if (!connect() || !agree()) return 1;
    bool right = true;
    for (int i = 0; i < kWarmUp; ++i) right = add_up() && right;
    shared_.warm.fetch_add(1);
    wait_until(shared_.go, 1);
    for (int i = 0; i < job_.operations; ++i) right = add_up() && right;
    shared_.done.fetch_add(1);
    wait_until(shared_.leave, 1);
    nezha_team_destroy(team_);
    nezha_engine_destroy(engine_);
    return right ? 0 : 1;
  }

 private:
  static void log(void*, int, const char* line) { std::fprintf(stderr, "%s\n", line); }
  static int progress(void*) { return 0; }

  bool connect() {
    nezha_config_t* config = nezha_config_create();
    char why[256] = "";
    for (const std::string& setting : job_.settings) {
      const std::size_t equals = setting.find('=');
      if (equals == std::string::npos || nezha_config_set(config, setting.substr(0, equals).c_str(),
                                                          setting.c_str() + equals + 1, why, sizeof why) != NEZHA_OK)
        return std::fprintf(stderr, "%s: %s\n", setting.c_str(), why), false;
    }
    const nezha_host_t host{nullptr, log, nullptr, progress, nullptr, nullptr, nullptr, nullptr};
    const nezha_self_t self{static_cast<std::uint32_t>(rank_), "here", 0, 0};
    const int result = nezha_engine_create(config, &host, &self, &engine_, why, sizeof why);
    nezha_config_destroy(config);
    if (result != NEZHA_OK) return std::fprintf(stderr, "no engine: %s\n", why), false;
    const void* address = nezha_engine_address(engine_, &shared_.address_size[rank_]);
    std::memcpy(shared_.address[rank_], address, shared_.address_size[rank_]);
    barrier(shared_, job_.ranks);
    return true;
  }

  bool agree() {
    std::vector<nezha_peer_t*> peers;
    for (int peer = 0; peer < job_.ranks; ++peer)
      peers.push_back(peer == rank_ ? nullptr
                                    : nezha_engine_peer(engine_, shared_.address[peer], shared_.address_size[peer], 1, nullptr, 0));
    const nezha_team_spec_t spec{"everybody", job_.ranks, rank_, peers.data(), 0, 0};
    team_ = nezha_team_create(engine_, &spec);
    for (int round = 0;; ++round) {
      std::uint64_t words[NEZHA_VOTE_WORDS];
      nezha_team_vote(team_, words);
      auto& votes = shared_.votes[round % 2];
      for (int i = 0; i < NEZHA_VOTE_WORDS; ++i) votes[i].fetch_or(words[i]);
      barrier(shared_, job_.ranks);
      for (int i = 0; i < NEZHA_VOTE_WORDS; ++i) words[i] = votes[i];
      const nezha_team_state_t state = nezha_team_decide(team_, words);
      barrier(shared_, job_.ranks);
      for (int i = 0; i < NEZHA_VOTE_WORDS; ++i) votes[i] = 0;  // for the round after the next
      if (state != NEZHA_TEAM_WIRING) return state == NEZHA_TEAM_READY;
    }
  }

  bool add_up() {
    const auto number = static_cast<std::uint32_t>(++calls_);
    send_.resize(job_.count);
    recv_.resize(job_.count);
    for (std::size_t i = 0; i < job_.count; ++i) send_[i] = number + static_cast<std::uint32_t>(rank_ + static_cast<int>(i));
    const nezha_call_t call{NEZHA_ALLREDUCE, send_.data(), recv_.data(), job_.count, 4, NEZHA_UINT32, NEZHA_SUM, nullptr, nullptr, 0, 0};
    if (nezha_carry(team_, &call) != NEZHA_OK) return false;
    const auto ranks = static_cast<std::uint32_t>(job_.ranks);
    for (std::size_t i = 0; i < job_.count; ++i)
      if (recv_[i] != ranks * (number + static_cast<std::uint32_t>(i)) + ranks * (ranks - 1) / 2) return false;
    return true;
  }

  Shared& shared_;
  const Job& job_;
  const int rank_;
  nezha_engine_t* engine_ = nullptr;
  nezha_team_t* team_ = nullptr;
  std::vector<std::uint32_t> send_, recv_;
  int calls_ = 0;
};

void read_line() {
  int letter = 0;
  while ((letter = std::getchar()) != '\n' && letter != EOF) {
  }
}

/// Waits for all ranks to come so far; false when one has ended instead.
bool all_come(const std::atomic<int>& value, const Job& job) {
  const timespec moment{0, 1000000};
  while (value.load() < job.ranks) {
    if (waitpid(-1, nullptr, WNOHANG) != 0) return false;
    nanosleep(&moment, nullptr);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: processes RANKS OPERATIONS BYTES [PARAMETER=VALUE]...\n"), 2;
  const Job job{std::atoi(argv[1]), std::atoi(argv[2]), std::strtoul(argv[3], nullptr, 10) / 4, {argv + 4, argv + argc}};
  if (job.ranks < 2 || job.ranks > kMostRanks) return 2;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  Shared& shared = *new (memory) Shared{};
  std::vector<pid_t> pids;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) _exit(Process(shared, job, rank).run());
    pids.push_back(pid);
  }
  bool good = all_come(shared.warm, job);
  if (good) {
    std::printf("ready");
    for (const pid_t pid : pids) std::printf(" %d", pid);
    std::printf("\n");
    std::fflush(stdout);
    read_line();
    shared.go = 1;
    good = all_come(shared.done, job);
    std::printf("done\n");
    std::fflush(stdout);
    read_line();
  }
  shared.go = shared.leave = 1;
  for (const pid_t pid : pids) {
    if (!good) kill(pid, SIGKILL);
    int status = 1;
    good = waitpid(pid, &status, 0) == pid && status == 0 && good;
  }
  return good ? 0 : 1;
}
