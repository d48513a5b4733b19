// SPDX-License-Identifier: BSD-3-Clause
/// An allreduce through an aggregator, a process that has lanes to all members and no rank: each member sends it the chunks
/// of a part of the vector and gets back their sums. What both sides have to know of such an operation, and how a member
/// tells the aggregator.
///
/// On the wire, by step: a description, 64 bytes, from each member; the same back to each, once all have sent theirs;
/// contributions; sums. A member sends chunk n when it has the sums of all chunks up to n - window: the sum is the credit, and
/// proves that what came before has arrived. Before the answer it sends nothing: what waited at the aggregator for one team
/// could use up the window that another team's description needs.
///
/// Blocks are those of the vector, or of each of its segments, as what carries the rest of it has them.
///
/// A small vector goes whole (StarTerms::whole): the description and the contribution are one piece, and the aggregator answers
/// with the sum at once.
///
/// Aggregators can be a tree of two levels: each member has lanes to the aggregator of its rack, and these have lanes to an upstream
/// one. A member sees no difference. Between a rack's aggregator and the upstream one, by step: the descriptions of the members;
/// one back, once all members of all racks have sent theirs; sums of the first n contributions in the order of a block, up from the
/// rack that has the n-th one and down to the rack that has the next one; final sums, down (star_fold.h, star_upstream.cc).
/// What goes whole is passed on, and added up by the upstream aggregator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alg/layout.h"
#include "reduce/reduce.h"
#include "util/status.h"

namespace nezha {

enum StarStep : std::uint16_t {
  kStarDescription,
  kStarAnswer,
  kStarContribution,
  kStarSum,
  kStarWhole,
  kStarPartial,  ///< + n: the sum of the first n contributions
};

/// The aggregator's position in a member's TeamView, which has these two alone: the member is 0.
constexpr int kStarCenter = 1;

constexpr std::size_t kStarDescriptionSize = 64;
/// Pieces are cut at multiples of it, so that a description stays whole and elements of every type do.
constexpr std::size_t kStarGrain = kStarDescriptionSize;

constexpr std::uint32_t kMostStarMembers = 1024;
constexpr std::uint32_t kMostStarWindow = 256;
/// Chunks that each of so many members may have under way. Many members have fewer, so that an aggregator of all needs no more than
/// 128 MiB for them (chunks of 64 KiB). Where several groups have operations at the same time, `chunk` is that of all.
std::uint32_t star_window(std::size_t members, std::size_t chunk);
/// Bytes of a vector that goes whole.
constexpr std::size_t kLargestWhole = 4096;

class StarFold;

/// How far a member has come, in bytes from the beginning of the vector; chunks go in the order of their places.
struct StarProgress {
  std::size_t ready = SIZE_MAX;  ///< the input is; after it has grown, Algorithm::wake()
  /// Where contributions lie as they do in the vector, since sums come over them there; null: not in place.
  std::byte* kept = nullptr;
  std::size_t sent = 0;   ///< contributions before here are on their way, and in `kept`
  std::size_t final = 0;  ///< sums before here are in the result
};

/// Where an operation is: at a member, or at the aggregator of all members; or in a tree.
enum class StarTier : std::uint8_t {
  single,
  climb,     ///< of a rack's aggregator, towards the upstream one
  rack,      ///< the same, towards its members
  upstream,  ///< of the upstream aggregator
};

/// Beside what a Call says anyway.
struct StarTerms {
  std::uint32_t members = 0;   ///< 0: the call goes through no aggregator
  std::uint32_t position = 0;  ///< of the member, in ring order
  std::uint32_t window = 0;    ///< chunks that a member may have sent and has no sum of
  nezha_type_t type = NEZHA_TYPE_OTHER;
  nezha_op_t op = NEZHA_OP_OTHER;
  std::size_t segment = 0;      ///< bytes, whole elements: the vector goes in so long segments, each with blocks of its own; 0: as one
  std::optional<std::uint32_t> share = std::nullopt;  ///< 65536ths that members have agreed to send through aggregators; none: see Stars
  StarProgress* progress = nullptr;  ///< a member's; stays as long as the operation
  bool whole = false;           ///< the vector is small; `window`, and the call's chunk, are 0
  StarTier tier = StarTier::single;
  /// An aggregator's, by position: the neighbour that has the contribution, a member or a rack; -1: it is another rack's.
  std::span<const int> holders = {};
  StarFold* fold = nullptr;  ///< of an aggregator that adds up

  /// Of the contribution that comes after `have` others in the block's order.
  int holder(int block, int have) const { return holders[static_cast<std::size_t>(block + have) % members]; }
};

/// What the members of an operation say of it, all alike but for the position.
struct StarDescription {
  StarTerms terms;
  std::uint64_t count = 0;  ///< elements of the whole vector
  std::uint32_t chunk = 0;  ///< bytes
  BlockPart part;

  /// Whether another member speaks of the same operation.
  bool agrees(const StarDescription& other) const;
  /// Of the whole vector, where that goes through an aggregator.
  std::size_t bytes() const;
  /// Memory that an aggregator with so many clients needs for it.
  std::uint64_t memory(std::size_t clients) const;
  /// What such an aggregator keeps after it for the next one, which counts pieces there (StarCover).
  std::uint64_t kept(std::size_t clients) const;
  /// What a rack's aggregator needs of it before all members have described it.
  std::uint64_t climb_memory() const;
};

/// Bytes of an element; 0: no kernel has that type.
std::size_t element_size(nezha_type_t type);

std::array<std::byte, kStarDescriptionSize> write_description(const StarDescription& description);
/// From untrusted bytes: what it returns can be carried, as far as memory goes.
Status read_description(std::span<const std::byte> from, StarDescription& description);

}  // namespace nezha
