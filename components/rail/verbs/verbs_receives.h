// SPDX-License-Identifier: BSD-3-Clause
/// The receives that the pairs of a rail share (ibv_create_srq), so that their memory does not grow with the pairs. A message takes
/// one of them, whoever sent it. Where more come at once than there are, the NICs that send wait ("receiver not ready").
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "util/status.h"

namespace nezha {

class VerbsDevice;

/// The device outlives it.
class VerbsReceives {
 public:
  /// `number` tells its completions from those of others of the device.
  VerbsReceives(VerbsDevice& device, std::uint32_t number) : device_(device), number_(number) {}
  ~VerbsReceives();
  VerbsReceives(const VerbsReceives&) = delete;
  VerbsReceives& operator=(const VerbsReceives&) = delete;

  /// Makes `count` slots of `size` bytes, all posted. Not ok: the device cannot, and this is of no use.
  Status open(std::size_t size, std::uint32_t count);

  std::uint32_t number() const { return number_; }
  ibv_srq* queue() const { return queue_; }
  std::span<std::byte> slot(std::uint32_t index) const { return {memory_.get() + index * size_, size_}; }
  Status post(std::uint32_t slot);
  /// The same where nobody can be told that it failed.
  void give_back(std::uint32_t slot) { lost_ += post(slot).ok() ? 0 : 1; }

  /// What the queue pair of that number receives is that pair's from here on.
  void join(std::uint32_t queue_pair, std::uint32_t pair);
  /// Nobody takes it any more. A slot that was being filled may never be seen again: `lost` at most of them.
  void leave(std::uint32_t queue_pair, std::uint32_t lost);
  /// 0: nobody takes it.
  std::uint32_t pair_of(std::uint32_t queue_pair) const;
  /// Of as many receives as there are, one pair's part.
  std::uint32_t share() const;
  /// So many slots may be lost that new pairs had better have others.
  bool worn() const { return lost_ >= count_ / 4; }

 private:
  VerbsDevice& device_;
  const std::uint32_t number_;
  std::size_t size_ = 0;
  std::uint32_t count_ = 0, lost_ = 0;
  std::shared_ptr<std::byte[]> memory_;
  ibv_mr* region_ = nullptr;
  ibv_srq* queue_ = nullptr;
  std::uint32_t reserved_ = 0;  ///< completions
  std::map<std::uint32_t, std::uint32_t> pairs_;  ///< by queue pair
};

}  // namespace nezha
