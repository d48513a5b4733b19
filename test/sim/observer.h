// SPDX-License-Identifier: BSD-3-Clause
/// Looks at all frames on their way, and knows what an honest trunk may send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "rail/sim/network.h"
#include "trunk/piece.h"

namespace nezha::test {

/// A piece that is sent again must have the bytes that it had before: its source is unchanged until it is acknowledged.
/// Who asks for window is answered once, however often the question arrives.
class Observer {
 public:
  /// Hears of frames that bring nothing but an ack.
  using OnAck = std::function<void(ProcessId from, ProcessId to)>;

  /// `sees_all`: no frame goes by RDMA, where none is seen.
  Observer(SimNetwork& network, bool sees_all, OnAck on_ack);

  /// The two begin anew, with ids from the beginning.
  void forget(ProcessId one, ProcessId other);

  /// Bytes of memory that what it has seen takes: they grow with what is sent.
  std::size_t memory() const { return memory_; }

 private:
  /// Checksums of the pieces' bytes by id; 0 = not sent yet, or withdrawn.
  using Sums = std::vector<std::uint32_t>;

  /// From, to, team, operation.
  using Question = std::tuple<ProcessId, ProcessId, TeamId, OpNumber>;
  using Ids = std::map<Question, std::set<std::uint64_t>>;

  void look_at_control(ProcessId from, ProcessId to, const PieceHeader& piece);
  void look(ProcessId from, ProcessId to, std::span<const std::byte> header, std::span<const Gather> payload);

  SimNetwork& network_;
  const bool sees_all_;
  const OnAck on_ack_;
  std::map<std::pair<ProcessId, ProcessId>, Sums> sums_;
  Ids wants_, begins_;
  std::size_t memory_ = 0;
};

}  // namespace nezha::test
