// SPDX-License-Identifier: BSD-3-Clause
/// What a member says of an operation through an aggregator: what is not refused can be cut, and every chunk is found by its bytes.
/// Input: where a piece of 64 bytes is said to lie (8 bytes), and the description.
#include <cstring>

#include "alg/star_layout.h"
#include "require.h"

namespace {

using namespace nezha;

void check_chunk(const StarLayout& layout, std::size_t number, const Call& call) {
  const StarLayout::Chunk chunk = layout.chunk(number);
  REQUIRE(chunk.block >= 0 && chunk.block < static_cast<int>(call.star.members));
  REQUIRE(chunk.size != 0 && chunk.size <= call.chunk);
  REQUIRE(chunk.begin < call.bytes() && chunk.size <= call.bytes() - chunk.begin);
  REQUIRE(layout.number_of(chunk.begin) == number && layout.number_of(chunk.end() - 1) == number);
  REQUIRE(layout.holds(chunk.begin, chunk.size, call.bytes()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t offset = 0;
  if (size < sizeof offset) return 0;
  std::memcpy(&offset, data, sizeof offset);
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + sizeof offset, size - sizeof offset);
  StarDescription said;
  if (!read_description(bytes, said).ok()) return 0;
  REQUIRE(said.bytes() != 0 && said.memory(said.terms.members) != 0);
  const auto again = write_description(said);
  REQUIRE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  if (said.terms.whole) return 0;
  const Call call = call_of(said);
  StarLayout layout;
  layout.cut(call);
  if (layout.chunks() == 0) return 0;
  for (const std::uint64_t number : {std::uint64_t{0}, offset % layout.chunks(), std::uint64_t{layout.chunks()} - 1})
    check_chunk(layout, number, call);
  if (!layout.holds(offset, 64, call.bytes())) return 0;
  const StarLayout::Chunk chunk = layout.chunk(layout.number_of(offset));
  REQUIRE(offset >= chunk.begin && chunk.end() - offset >= 64);
  return 0;
}
