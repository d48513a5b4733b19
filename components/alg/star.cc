// SPDX-License-Identifier: BSD-3-Clause
#include "alg/star.h"

#include <algorithm>
#include <string>

#include "alg/star_cover.h"
#include "util/bytes.h"
#include "util/params.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMagic = 'N' | 'Z' << 8 | 'S' << 16 | std::uint32_t{'T'} << 24;
/// So that a count times an element is no surprise.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48;
constexpr std::size_t kWindow = 24, kLeastWindow = 2;
/// Of an operation. Half of what a service gives a communicator by default.
constexpr std::size_t kMemory = std::size_t{128} << 20;

enum Offset : std::size_t {
  magic = 0, type_at = 4, op_at = 6, members_at = 8, position_at = 12, window_at = 16, chunk_at = 20, from_at = 24,
  to_at = 28, count_at = 32, segment_at = 40, end_at = 48,
};

Status bad(const std::string& what) { return {Code::bad_wire, "a description of an operation that cannot be: " + what}; }

}  // namespace

std::uint32_t star_window(std::size_t members, std::size_t chunk) {
  return static_cast<std::uint32_t>(std::clamp(kMemory / ((members + 1) * chunk), kLeastWindow, kWindow));
}

std::size_t element_size(nezha_type_t type) {
  switch (type) {
    case NEZHA_INT8:
    case NEZHA_UINT8:
      return 1;
    case NEZHA_INT16:
    case NEZHA_UINT16:
      return 2;
    case NEZHA_INT32:
    case NEZHA_UINT32:
    case NEZHA_FLOAT:
      return 4;
    case NEZHA_INT64:
    case NEZHA_UINT64:
    case NEZHA_DOUBLE:
    case NEZHA_COMPLEX_FLOAT:
      return 8;
    case NEZHA_COMPLEX_DOUBLE:
      return 16;
    default:
      return 0;
  }
}

std::size_t StarDescription::bytes() const { return count * element_size(terms.type); }

bool StarDescription::agrees(const StarDescription& other) const {
  const StarTerms &a = terms, &b = other.terms;
  return a.members == b.members && a.whole == b.whole && a.window == b.window && a.type == b.type && a.op == b.op &&
         a.segment == b.segment && count == other.count && chunk == other.chunk && part == other.part;
}

std::uint64_t StarDescription::memory(std::size_t clients) const {
  if (terms.whole) return std::uint64_t{terms.members} * bytes();
  return std::uint64_t{terms.window} * (clients + 1) * chunk;
}

std::uint64_t StarDescription::kept(std::size_t clients) const {
  return std::uint64_t{terms.window} * (clients + 2) * (StarCover::size(chunk) + sizeof(std::uint32_t));
}

std::uint64_t StarDescription::climb_memory() const {
  const std::uint64_t said = std::uint64_t{terms.members} * kStarDescriptionSize;
  return said + (terms.whole ? memory(terms.members) : std::uint64_t{terms.window} * chunk);
}

std::array<std::byte, kStarDescriptionSize> write_description(const StarDescription& description) {
  std::array<std::byte, kStarDescriptionSize> to{};
  store_le<std::uint32_t>(&to[magic], kMagic);
  store_le<std::uint16_t>(&to[type_at], static_cast<std::uint16_t>(description.terms.type));
  store_le<std::uint16_t>(&to[op_at], static_cast<std::uint16_t>(description.terms.op));
  store_le<std::uint32_t>(&to[members_at], description.terms.members);
  store_le<std::uint32_t>(&to[position_at], description.terms.position);
  store_le<std::uint32_t>(&to[window_at], description.terms.window);
  store_le<std::uint32_t>(&to[chunk_at], description.chunk);
  store_le<std::uint32_t>(&to[from_at], description.part.from);
  store_le<std::uint32_t>(&to[to_at], description.part.to);
  store_le<std::uint64_t>(&to[count_at], description.count);
  store_le<std::uint64_t>(&to[segment_at], description.terms.segment);
  return to;
}

Status read_description(std::span<const std::byte> from, StarDescription& description) {
  if (from.size() != kStarDescriptionSize || load_le<std::uint32_t>(&from[magic]) != kMagic)
    return bad("it is none");
  if (!std::all_of(from.begin() + end_at, from.end(), [](std::byte b) { return b == std::byte{0}; }))
    return bad("it says more than this version knows");
  const std::uint16_t type = load_le<std::uint16_t>(&from[type_at]), op = load_le<std::uint16_t>(&from[op_at]);
  StarTerms& terms = description.terms;
  terms = {};
  terms.members = load_le<std::uint32_t>(&from[members_at]);
  terms.position = load_le<std::uint32_t>(&from[position_at]);
  terms.window = load_le<std::uint32_t>(&from[window_at]);
  description.chunk = load_le<std::uint32_t>(&from[chunk_at]);
  description.part = {load_le<std::uint32_t>(&from[from_at]), load_le<std::uint32_t>(&from[to_at])};
  description.count = load_le<std::uint64_t>(&from[count_at]);
  terms.segment = load_le<std::uint64_t>(&from[segment_at]);
  if (type >= NEZHA_TYPE_COUNT || op >= NEZHA_OP_COUNT) return bad("an unknown type or operation");
  terms.type = static_cast<nezha_type_t>(type);
  terms.op = static_cast<nezha_op_t>(op);
  if (find_kernel(terms.type, terms.op) == nullptr) return bad("a type and an operation without a kernel");
  if (terms.members < 2 || terms.members > kMostStarMembers) return bad(std::to_string(terms.members) + " members");
  if (terms.position >= terms.members) return bad("position " + std::to_string(terms.position));
  terms.whole = terms.window == 0 && description.chunk == 0;
  const bool window = terms.window != 0 && terms.window <= kMostStarWindow;
  if (!terms.whole && !window) return bad("a window of " + std::to_string(terms.window));
  const bool chunk = description.chunk >= kLeastChunk && description.chunk <= kMostChunk && description.chunk % kStarGrain == 0;
  if (!terms.whole && !chunk) return bad("chunks of " + std::to_string(description.chunk) + " bytes");
  if (description.part.from >= description.part.to || description.part.to > BlockPart::kWhole)
    return bad("no part of its blocks");
  if (description.count == 0 || description.count > kMostElements) return bad("its count of elements");
  if (terms.segment % element_size(terms.type) != 0 || (terms.whole && terms.segment != 0))
    return bad("segments of " + std::to_string(terms.segment) + " bytes");
  if (terms.whole && (description.bytes() > kLargestWhole || description.part != BlockPart{}))
    return bad("too large to go whole");
  return {};
}

}  // namespace nezha
