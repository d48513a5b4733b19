// SPDX-License-Identifier: BSD-3-Clause
/// One connection of a btl rail.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "rail/btl/btl_head.h"
#include "rail/message/queue_pair.h"

namespace nezha {

class BtlKind;

class BtlPair final : public QueuePair {
 public:
  /// `rail` is the kind's, `other` the peer's number of the connection, 0 where this side calls.
  BtlPair(BtlKind& kind, std::size_t rail, std::uint32_t rank, std::uint64_t number, std::uint64_t other)
      : kind_(kind), rail_(rail), rank_(rank), number_(number), other_(other), calls_(other == 0) {}
  ~BtlPair() override { BtlPair::close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override;
  Status start() override;
  Status post_receive(std::uint32_t slot) override;
  Posted post_send(std::uint32_t slot, std::size_t size) override;
  void close() override;

  std::uint64_t number() const { return number_; }
  /// The peer has begun it, by that number of its own.
  bool was_called(std::uint32_t rank, std::uint64_t from) const { return !calls_ && rank == rank_ && from == other_; }

  // ---- for the kind, from inside its poll(); each may close the pair
  /// Says what start() left to say. False: not now.
  bool introduce();
  /// What came from the peer.
  void take(const BtlHead& head, std::span<const std::byte> body);
  void tell_sent();

 private:
  BtlHead head(BtlType type) const;

  BtlKind& kind_;
  const std::size_t rail_;
  const std::uint32_t rank_;
  const std::uint64_t number_;
  std::uint64_t other_;
  const bool calls_;
  bool open_ = false;        ///< enrolled and not closed
  bool introduced_ = false;  ///< the peer has heard of it
  Slots slots_;
  QueuePairEvents* events_ = nullptr;
  std::deque<std::uint32_t> posted_;
  std::vector<std::uint32_t> sent_;  ///< slots whose contents the host has copied
};

}  // namespace nezha
