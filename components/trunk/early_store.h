// SPDX-License-Identifier: BSD-3-Clause
/// Pieces that arrived before their operation began here, kept within the window that the peer was promised.
/// Buffers are reused: nothing is allocated once the usual number of early pieces has been seen.
#pragma once

#include <cstddef>
#include <vector>

#include "trunk/piece.h"

namespace nezha {

class EarlyStore {
 public:
  explicit EarlyStore(std::size_t window) : window_(window) {}

  /// A buffer for a piece that is being received, or nullptr when the peer exceeds its window.
  std::byte* reserve(std::size_t size);
  /// The buffer's piece has arrived whole: it waits for its operation.
  void keep(const std::byte* buffer, const PieceHeader& header);
  /// The buffer is not needed (a duplicate, or its lane died).
  void drop(const std::byte* buffer);

  /// Calls use(header, data) for each waiting piece of that operation and frees it. `use` must not call the store.
  template <typename Use>
  void take(TeamId team, OpNumber op, Use use) {
    for (Slot& slot : slots_) {
      if (slot.state != State::waiting || slot.header.team != team || slot.header.op != op) continue;
      use(slot.header, slot.bytes.data());
      free(slot);
    }
  }
  /// Frees what waits for a team that is gone.
  void forget(TeamId team);
  bool empty() const { return used_ == 0; }

 private:
  enum class State { idle, arriving, waiting };
  struct Slot {
    State state = State::idle;
    PieceHeader header;
    std::size_t size = 0;
    std::vector<std::byte> bytes;
  };

  Slot* find(const std::byte* buffer);
  void free(Slot& slot);

  std::size_t window_;
  std::size_t used_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace nezha
