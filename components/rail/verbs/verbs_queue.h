// SPDX-License-Identifier: BSD-3-Clause
/// A queue pair of a device with its memory, and the task that brings it from INIT to ready to send. That may wait for a
/// neighbour's address, so a queue outlives a VerbsPair that is closed meanwhile; and one that has sent outlives it for a while,
/// because the kernel does not destroy it before its last packet is gone.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rail/rail.h"
#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_receives.h"

namespace nezha {

/// But for run(), with the engine's lock held. The device outlives it.
class VerbsQueue final : public Task {
 public:
  explicit VerbsQueue(VerbsDevice& of) : device(of) {}
  /// Gives everything back to the device. Not while run() may be under way.
  ~VerbsQueue();
  VerbsQueue(const VerbsQueue&) = delete;
  VerbsQueue& operator=(const VerbsQueue&) = delete;

  /// run() follows.
  void begin() { over_.store(false, std::memory_order_relaxed); }
  void run() override;
  /// run() is not under way.
  bool over() const { return over_.load(std::memory_order_acquire); }
  /// Nobody needs it any more: if it has not begun to run it does nothing.
  void abandon();
  /// It sends and receives nothing from here on, and reads and writes no memory. Of what came into shared slots, and nobody has seen,
  /// some devices tell nothing any more. Once it is over.
  void stop();
  /// It may read memory of the application's.
  bool lends() const;

  VerbsDevice& device;
  std::shared_ptr<std::byte[]> owner;  ///< of the memory
  std::shared_ptr<VerbsReceives> receives;  ///< null: its own
  std::vector<std::shared_ptr<const void>> lent;  ///< regions of sends that are under way, by slot from the first sending one on
  ibv_qp* pair = nullptr;
  ibv_mr* memory = nullptr;
  std::uint32_t reserved = 0;  ///< completions
  ibv_qp_attr receive{}, send{};

  // ---- once it is over
  int error = 0;
  const char* step = "";

 private:
  std::atomic<bool> over_ = true, abandoned_ = false;
};

}  // namespace nezha
