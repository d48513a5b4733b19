// SPDX-License-Identifier: BSD-3-Clause
/// Times the shared-memory allreduce of components/node between processes of this machine, without MPI.
/// Usage: nezha_node_bench [MEMBERS [copies|single [CHUNK [SINGLE_COPY_CHUNK]]]]
/// For each size from 8 B to 16 MiB it prints bytes and the median of member 0's times of calls in a row, in
/// microseconds.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "node/node_stage.h"
#include "node/node_trial.h"
#include "node/node_wait.h"

namespace nezha {
namespace {

constexpr std::size_t kLargest = 16 * 1024 * 1024;

struct Wanted {
  std::uint32_t members = 2;
  NodeAccess access = NodeAccess::copies;
  std::size_t chunk = 0;
  std::size_t single_copy_chunk = NodeStageOptions().single_copy_chunk;
};

bool spare_cores(std::uint32_t members) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) >= static_cast<int>(members);
}

class Member {
 public:
  Member(NodeMemory& memory, const NodeStageOptions& options)
      : stage_(memory, options),
        wait_(memory, spare_cores(memory.members())),
        send_(kLargest / 4, 1.0F),
        recv_(kLargest / 4) {}

  void allreduce(std::size_t bytes) {
    Reducer reducer;
    reducer.kernel = find_kernel(NEZHA_FLOAT, NEZHA_SUM);
    reducer.element = 4;
    stage_.begin({.send = reinterpret_cast<const std::byte*>(send_.data()),
                  .recv = reinterpret_cast<std::byte*>(recv_.data()),
                  .bytes = bytes,
                  .reducer = reducer,
                  .carriers = {}});
    while (!stage_.over()) {
      if (stage_.poll()) {
        wait_.moved();
      } else {
        wait_.rest(kMillisecond, [this] { return stage_.poll() || stage_.over(); });
      }
      if (!stage_.failed().ok()) {
        std::fprintf(stderr, "member %u: %s\n", stage_.failed_member(), stage_.failed().text().c_str());
        std::exit(1);
      }
    }
  }

 private:
  NodeStage stage_;
  NodeWait wait_;
  std::vector<float> send_, recv_;
};

double median_microseconds(Member& member, std::size_t bytes) {
  const std::size_t calls = std::clamp<std::size_t>(std::size_t{32} * 1024 * 1024 / (bytes + 4096), 10, 2000);
  std::vector<double> times;
  for (std::size_t i = 0; i < calls + calls / 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    member.allreduce(bytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (i >= calls / 10) times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

void run(const Wanted& wanted, const NodeLayout& layout, std::byte* base, std::uint32_t self) {
  NodeMemory memory(layout, base, self);
  NodeTrial trial(memory, wanted.access, NodeSystem::real());
  if (!trial.arrive().ok()) std::exit(1);
  while (!trial.poll()) sched_yield();
  if (self == 0)
    std::printf("# %u members, %s %s\n", wanted.members,
                trial.access() == NodeAccess::copies ? "copies" : "single copy", trial.why().c_str());
  NodeStageOptions options{.access = trial.access()};
  options.single_copy_chunk = wanted.single_copy_chunk;
  options.single_copy_from = 0;
  Member member(memory, options);
  for (std::size_t bytes = 8; bytes <= kLargest; bytes *= bytes < 65536 ? 4 : 2) {
    const double took = median_microseconds(member, bytes);
    if (self == 0) std::printf("%9zu %10.2f\n", bytes, took);
    std::fflush(stdout);
  }
}

Wanted read_arguments(int count, char** words) {
  Wanted wanted;
  if (count > 1) wanted.members = static_cast<std::uint32_t>(std::max(1, std::atoi(words[1])));
  if (count > 2 && std::strcmp(words[2], "single") == 0) wanted.access = NodeAccess::single_copy;
  wanted.chunk = count > 3 ? static_cast<std::size_t>(std::atol(words[3])) : NodeLayout::usual_chunk(wanted.members);
  if (count > 4) wanted.single_copy_chunk = static_cast<std::size_t>(std::atol(words[4]));
  return wanted;
}

}  // namespace
}  // namespace nezha

int main(int count, char** words) {
  using namespace nezha;
  const Wanted wanted = read_arguments(count, words);
  const NodeLayout layout(wanted.members, wanted.chunk);
  void* at = mmap(nullptr, layout.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    std::perror("nezha_node_bench: mmap");
    return 1;
  }
  auto* base = static_cast<std::byte*>(at);
  NodeMemory::write_header(layout, base);
  for (std::uint32_t self = 1; self < wanted.members; ++self) {
    if (fork() == 0) {
      run(wanted, layout, base, self);
      _exit(0);
    }
  }
  run(wanted, layout, base, 0);
  int bad = 0;
  for (int status = 0; wait(&status) > 0;) bad |= status;
  return bad != 0;
}
