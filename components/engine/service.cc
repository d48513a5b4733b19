// SPDX-License-Identifier: BSD-3-Clause
/// The service thread: wiring, acks and replay while nobody is in a call.
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "engine/engine.h"
#include "engine/signals_blocked.h"

namespace nezha {
namespace {

constexpr Nanoseconds kTick = 10 * kMillisecond;
constexpr Nanoseconds kShortest = 500 * kMicrosecond;
/// While there are requests, and for a while after: how long it sleeps where a caller looks after them, and where it
/// watches the lanes itself.
/// Each is twice as long as the one before, so many times, while nothing comes: short naps of many threads take a crowded
/// node's processors from the ranks that are waited for, and kernels that make ranks pay for yielding (Linux 6.18)
/// then leave some of them out for seconds.
constexpr Nanoseconds kBesideCaller = 200 * kMicrosecond;
constexpr unsigned kLongerBeside = 6;
constexpr Nanoseconds kOverlapping = kMillisecond;
constexpr unsigned kLongerOverlapping = 3;
constexpr Nanoseconds kClimbing = 50 * kMicrosecond;  ///< where something came through shared memory lately
constexpr Nanoseconds kClimbedLately = kMillisecond;
constexpr Nanoseconds kOverlappedLately = 20 * kMillisecond;
constexpr timespec kStandBack = {0, 2 * kMillisecond};
constexpr int kMostTries = 50;
/// Calls within a tick from which on callers are left alone: they do what is due, and what they send carries the acks.
constexpr unsigned kBusyCaller = 8;

/// Takes the lock, preferably without waiting for it: a caller that drives has it nearly always, and does what is due.
/// A thread that waits for it would cost both of them a futex call at every tick.
void take_turn(std::unique_lock<std::mutex>& lock) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (lock.try_lock()) return;
    nanosleep(&kStandBack, nullptr);
  }
  lock.lock();
}

}  // namespace

void Engine::wake_service() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

void Engine::start_service() {
  if (service_.joinable() || wake_fd_ < 0) return;
  const SignalsBlocked meanwhile;
  service_ = std::thread([this] { serve(); });
  host_btl_.keep_out(service_.get_id());
}

void Engine::serve() {
  pthread_setname_np(pthread_self(), "nezha-service");
  affinity_.take();
  try {
    serve_until_stop();
  } catch (const std::bad_alloc&) {
    no_memory();
  }
}

void Engine::serve_until_stop() {
  Lock lock(mutex_);
  while (!stop_) {
    const bool asked = nap(lock, ticking_);
    if (stop_) return;
    core_.beat(clock_.now());
    write_trace(lock);
    if (operations_ != 0) {  // whoever waits for one drives
      if (unattended(clock_.now())) stand_in();
      continue;
    }
    if (requests_.waiting() != 0) {
      overlap();
      continue;
    }
    const unsigned called = std::exchange(called_, 0);
    callers_drive_ = called >= kBusyCaller && !core_.wiring();
    if (callers_drive_ && !asked) continue;
    core_.step(clock_.now());
    if (trace_) trace_->tick(clock_.now());
    const bool moved = core_.progress(ticking_ || core_.wiring() ? Watch::all : Watch::rare);
    const bool outstanding = core_.settle();
    ticking_ = outstanding || called || moved;
  }
}

/// Sleeps until something is due: a tick, a deadline, a connection or loss, or a call that wakes it. While a caller
/// waits for an operation only the tick and the wake-up count, unless this thread goes on in the driver's stead. True when
/// a transport has something, if only the answer to a task.
bool Engine::nap(Lock& lock, bool ticking) {
  std::array<pollfd, 8> fds;
  nfds_t count = 0;
  fds[count++] = {wake_fd_, POLLIN, 0};
  const Nanoseconds now = clock_.now();
  const bool requests = requests_.waiting() != 0;
  const bool overlaps = operations_ == 0 && (requests || now - overlapped_ < kOverlappedLately);
  const bool beside = requests && callers_look(now);
  const bool stands_in = operations_ != 0 && unattended(now) && !calls_host();
  const bool looks = operations_ == 0 || stands_in;
  const Watch watch = core_.wiring() || requests || stands_in ? Watch::all : Watch::rare;
  for (const auto& transport : core_.transports())
    if (looks && !beside && count < fds.size()) fds[count++] = {transport->wait_fd(watch), POLLIN, 0};
  const Nanoseconds due = looks && !callers_drive_ ? core_.next_due() : 0;
  watching_ = operations_ == 0 && !ticking;
  if (watching_) core_.arm_payload_wakeup();  // what comes while the application computes is acknowledged too
  Nanoseconds span = ticking ? kTick : 0;
  if (due != 0 && (span == 0 || due - now < span)) span = std::max<Nanoseconds>(due - now, kShortest);
  const bool climbs = core_.climbs() && now - moved_ < kClimbedLately;
  if (overlaps)
    span = beside   ? kBesideCaller << std::min(vain_naps_, kLongerBeside)
           : climbs ? kClimbing
                    : kOverlapping << std::min(vain_naps_, kLongerOverlapping);
  if (const Nanoseconds beat = core_.next_beat(); beat != 0 && (span == 0 || beat - now < span))
    span = std::max(beat - now, kShortest);
  vain_naps_ = requests ? vain_naps_ + 1 : 0;
  asleep_ = !overlaps;
  const timespec time{span / kSecond, span % kSecond};
  lock.unlock();
  const int ready = ppoll(fds.data(), count, span == 0 ? nullptr : &time, nullptr);
  std::uint64_t drained = 0;
  [[maybe_unused]] const ssize_t got = read(wake_fd_, &drained, sizeof drained);
  const bool answered = tasks_.run();
  take_turn(lock);
  watching_ = false;
  return answered || (ready > 0 && std::any_of(fds.begin() + 1, fds.begin() + count,
                                               [](const pollfd& fd) { return fd.revents != 0; }));
}

}  // namespace nezha
