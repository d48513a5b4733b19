// SPDX-License-Identifier: BSD-3-Clause
/// Pieces that arrived before their operation began here, kept within the window that the peer was promised.
/// They lie in a ring of memory a little larger than the window; a piece that finds no room there, because an old one
/// lies in the way, gets memory of its own. Nothing is allocated once the usual number of early pieces has been seen.
///
/// What the peer counts against its window is counted here: a piece once, however many lanes bring it, and not at all
/// from the time when its operation begins, although it may be arriving still.
#pragma once

#include <cstddef>
#include <vector>

#include "trunk/block_ring.h"
#include "trunk/piece.h"

namespace nezha {

class EarlyStore {
 public:
  explicit EarlyStore(std::size_t window) : window_(window), ring_(window + window / 4) { slots_.reserve(kUsual); }

  /// A buffer for a piece that is being received, or nullptr when the peer exceeds its window.
  std::byte* reserve(const PieceHeader& header);
  /// The buffer's piece has arrived whole: it waits for its operation.
  void keep(const std::byte* buffer);
  /// The buffer is not needed (a duplicate, or its lane died).
  void drop(const std::byte* buffer);

  /// That operation begins: calls use(header, data) for each of its waiting pieces and frees it. `use` must not call the
  /// store.
  template <typename Use>
  void take(TeamId team, OpNumber op, Use use) {
    give([=](const PieceHeader& piece) { return piece.team == team && piece.op == op; }, use);
  }
  /// Frees what waits for a team that is gone; what is arriving for it counts no more.
  void forget(TeamId team) {
    give([=](const PieceHeader& piece) { return piece.team == team; }, [](const PieceHeader&, const std::byte*) {});
  }
  bool empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kUsual = 32;  ///< early pieces; more have their place in `slots_` allocated when they come
  enum class State { idle, arriving, waiting };
  struct Slot {
    State state = State::idle;
    PieceHeader header;
    bool counted = false;  ///< in used_
    std::byte* data = nullptr;
    std::vector<std::byte> own;  ///< where `data` lies when there was no room in the ring
  };

  template <typename Chosen, typename Use>
  void give(Chosen chosen, Use use) {
    if (empty()) return;
    for (Slot& slot : slots_) {
      if (slot.state == State::idle || !chosen(slot.header)) continue;
      uncount(slot);
      if (slot.state != State::waiting) continue;
      use(slot.header, slot.data);
      release(slot);
    }
  }
  Slot& idle_slot(bool for_own);
  Slot* find(const std::byte* buffer);
  Slot* twin(std::uint64_t id, bool counted);
  void uncount(Slot& slot);
  void free(Slot& slot);
  void release(Slot& slot);

  std::size_t window_;
  std::size_t used_ = 0;
  BlockRing ring_;
  std::vector<Slot> slots_;
};

}  // namespace nezha
