// SPDX-License-Identifier: BSD-3-Clause
/// How a thread that drives sleeps until there is something to do.
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <array>

#include "engine/engine.h"
#include "node/node_memory.h"

namespace nezha {
namespace {

constexpr Nanoseconds kSeeingOff = 2 * kSecond, kParting = 500 * kMillisecond;

}  // namespace

/// Nothing to do for the lanes: sleep for `longest` at most, or only yield.
void Engine::rest(Lock& lock, Nanoseconds longest) {
  if (longest == 0) {
    const Unlocked meanwhile(lock);
    sched_yield();
    return;
  }
  if (NodeMemory* memory = leaving_ == 0 ? only_node() : nullptr) return rest_on(lock, *memory, longest);
  std::array<pollfd, 8> fds;
  nfds_t count = 0;
  for (const auto& transport : core_.transports())
    if (count < fds.size()) fds[count++] = {transport->wait_fd(Watch::all), POLLIN, 0};
  const Unlocked meanwhile(lock);
  const timespec time{0, longest};
  ppoll(fds.data(), count, &time, nullptr);
}

/// This process may be gone before its last call is over elsewhere. What peers lack of it is theirs before lanes are closed, or they
/// are gone, or stand still for longer than a program may take to end.
void Engine::see_peers_off() {
  Lock lock(mutex_);
  const Nanoseconds deadline = clock_.now() + kSeeingOff;
  for (Nanoseconds now = clock_.now(); core_.owes() && now < deadline; now = clock_.now()) {
    go_on(now);
    core_.settle();
    rest(lock, kMillisecond);
  }
}

void Engine::part() {
  Lock lock(mutex_);
  core_.part();
  const Nanoseconds deadline = clock_.now() + kParting;
  while (!core_.parted() && clock_.now() < deadline) {
    core_.progress(Watch::all);
    const Unlocked meanwhile(lock);
    host_.progress(host_.ctx);
  }
}

/// Until a rank of this node has done something.
void Engine::rest_on(Lock& lock, NodeMemory& memory, Nanoseconds longest) {
  memory.announce_sleep();
  if (!look_everywhere()) {
    lock.unlock();
    memory.sleep(longest);
    lock.lock();
  }
  memory.awake();
  if (leaving_ != 0) turn_.notify_all();
}

/// Another thread may sleep on the memory of a team whose calls are over, for it has not had the lock since.
void Engine::await_awake(Lock& lock, const Team& team) {
  ++leaving_;  // from here on nobody goes to sleep on any
  turn_.wait(lock, [&] { return team.hierarchy() == nullptr || !team.hierarchy()->slept_on(); });
  --leaving_;
}

}  // namespace nezha
