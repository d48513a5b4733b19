/* SPDX-License-Identifier: BSD-3-Clause */
/// Gloo over one network interface: a context whose connections stay on it, and a thread that drives it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <gloo/context.h>

namespace nezha_bench {

/// A full mesh on `interface`; addresses are exchanged over MPI_COMM_WORLD. Collective. Throws what Gloo throws.
std::shared_ptr<gloo::Context> connect_over(const std::string& interface, int rank, int ranks);

/// A thread that runs one job at a time.
class RailThread {
 public:
  RailThread();
  ~RailThread();
  RailThread(const RailThread&) = delete;
  RailThread& operator=(const RailThread&) = delete;

  void start(std::function<void()> job);
  /// Returns when the job is done; throws what the job threw.
  void wait();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::exception_ptr failure_;
  bool busy_ = false;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace nezha_bench
