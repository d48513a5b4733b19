// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worker_thread.h"

#include <sched.h>
#include <time.h>

#include <system_error>

#include "engine/signals_blocked.h"

namespace nezha {
namespace {

/// How long it looks for the next frame before it sleeps: to be woken takes longer than most frames are apart.
constexpr long kLinger = 50'000;  // ns
constexpr std::size_t kTasks = 64;
constexpr std::size_t kLongestName = 15;  // for the kernel

long nanoseconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

}  // namespace

bool WorkerThread::start(const std::string& name) {
  const SignalsBlocked meanwhile;
  queue_.reserve(kTasks);
  try {
    thread_ = std::thread([this] { work(); });
    pthread_setname_np(handle(), name.substr(0, kLongestName).c_str());
  } catch (const std::system_error&) {
  }
  return thread_.joinable();
}

WorkerThread::~WorkerThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
    waiting_.store(true, std::memory_order_relaxed);
  }
  submitted_.notify_one();
  thread_.join();
}

void WorkerThread::submit(Task& task) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back(&task);
    waiting_.store(true, std::memory_order_relaxed);
  }
  submitted_.notify_one();
}

void WorkerThread::work() {
  Lock lock(mutex_);
  while (!stop_) {
    if (queue_.empty()) {
      waiting_.store(false, std::memory_order_relaxed);
      lock.unlock();
      linger();
      lock.lock();
      submitted_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      continue;
    }
    run_first(lock);
  }
}

void WorkerThread::linger() {
  const long until = nanoseconds_now() + kLinger;
  while (!waiting_.load(std::memory_order_relaxed) && nanoseconds_now() < until) sched_yield();
}

}  // namespace nezha
