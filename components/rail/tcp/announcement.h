// SPDX-License-Identifier: BSD-3-Clause
/// Has the neighbours of a rail learn its hardware address at once, when it is back, or one of theirs is. Meanwhile they have
/// asked for that in vain, and their kernels ask again after a second only; connections wait for it.
///
/// A question of ours for an address that nobody has is broadcast, and tells them as well. The kernel asks it for an empty
/// datagram to port 9 (discard), which needs no privilege. Over IPv4 only: IPv6 asks no broadcast questions. It takes several
/// in a row, each for another address: one may get lost, and neighbours whose links come back a little later hear none before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rail/rail.h"
#include "rail/tcp/interface.h"
#include "util/clock.h"

namespace nezha {

/// The addresses of `rails` in the interface's IPv4 network, as numbers, in order and each once: of all ranks of all
/// nodes few are left.
std::vector<std::uint32_t> taken_addresses(const Interface& interface, std::span<const RailAddress* const> rails);

/// Up to `most` addresses of the interface's IPv4 network that are not in `taken`, which is in order, nor its own, nor
/// that of the network or of its broadcasts; after `passed` other such ones, if there are so many.
std::vector<std::array<std::uint8_t, 16>> unused_addresses(const Interface& interface,
                                                           std::span<const std::uint32_t> taken, std::size_t most,
                                                           std::size_t passed = 0);

class Announcement {
 public:
  /// `turn`: how many there were of that rail before. For some seconds the kernel asks no second time for an address.
  Announcement(const Interface& interface, std::span<const RailAddress* const> taken, std::size_t turn,
               Nanoseconds now);
  /// Asks what is due. Without effect where that is not possible: neighbours then learn later.
  void step(Nanoseconds now);
  /// When step() must be called next; 0 = it is over.
  Nanoseconds due() const { return asked_ < addresses_.size() ? due_ : 0; }

 private:
  Interface interface_;
  std::vector<std::array<std::uint8_t, 16>> addresses_;
  std::size_t asked_ = 0;
  Nanoseconds due_;
};

}  // namespace nezha
