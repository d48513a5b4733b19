// SPDX-License-Identifier: BSD-3-Clause
/// Memory of the application's that a device may read, by its addresses: registered when it is first sent from, and kept until it
/// was given back to the kernel (util/unmapped.h) and something else is sent, or room for more is needed. With the engine's lock held.
///
/// Only pages of what is being sent from are registered, which nobody may give back meanwhile, only for reading, and none of the
/// heap (in_heap()). A process that forks keeps these pages, which needs Linux 5.12; and only where no page has to be hidden from
/// its children: see usable().
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "rail/verbs/verbs_library.h"
#include "util/unmapped.h"

namespace nezha {

class VerbsRegions {
 public:
  /// At most `most` bytes are registered, but for what is on its way when more are wanted.
  VerbsRegions(const VerbsLibrary& verbs, std::size_t most) : verbs_(verbs), most_(most) {}

  /// The process hears of memory that goes, and may fork.
  bool usable() const { return verbs_.fork_hides_nothing && hears_of_unmapping(); }
  /// Where these bytes are registered; null: they cannot be, or must not. If they are not yet, the `reach` bytes from their
  /// beginning on become so.
  std::shared_ptr<ibv_mr> find(ibv_pd* domain, std::span<const std::byte> bytes, std::size_t reach);
  /// Gives up all of which nothing is on its way. True when there was any.
  bool clear();

 private:
  struct Known {
    std::uintptr_t end = 0;
    std::shared_ptr<ibv_mr> memory;  ///< null: it could not be registered
  };

  void forget(std::uintptr_t from, std::uintptr_t to);
  std::shared_ptr<ibv_mr> add(ibv_pd* domain, std::uintptr_t from, std::uintptr_t to);

  const VerbsLibrary& verbs_;
  const std::size_t most_;
  UnmappedReader unmapped_;
  std::map<std::uintptr_t, Known> known_;  ///< by the first address
  std::size_t bytes_ = 0;                  ///< of them
  std::uintptr_t longest_ = 0;             ///< that was ever among them
};

}  // namespace nezha
