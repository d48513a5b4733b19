// SPDX-License-Identifier: BSD-3-Clause
#include "matrix.h"

#include <algorithm>

namespace nezha::test {
namespace {

constexpr std::size_t kSmallMax = 8 * 1024;     // coll_nezha_small_max of all worlds
constexpr std::size_t kMeshBlock = 64 * 1024;   // and coll_nezha_mesh_block
constexpr std::size_t kMostCopied = 32 * 1024;  // beyond it nothing goes in one pass
constexpr std::size_t kMostBytes = 2 * 1024 * 1024;
constexpr std::size_t kMostBytesSlow = 100 * 1024;  // under a sanitizer

struct Count {
  std::size_t elements;  ///< or 0 and
  std::size_t bytes;     ///< so many whole elements,
  std::size_t more = 0;  ///< and this many more;
  bool each = false;     ///< so many for each rank
};
constexpr std::array<Count, kCountChoices> kCounts = {{
    {0, 0},
    {1, 0},
    {2, 0},
    {7, 0},
    {1023, 0},
    {65537, 0},
    {0, kSmallMax},
    {0, kSmallMax, 1},
    {0, kMostCopied},
    {0, kMostCopied, 1},
    {0, kMeshBlock, 0, true},
    {0, kMeshBlock, 1, true},
    {0, 840 * 1024},  // whole chunks and blocks for every number of ranks here
    {0, 840 * 1024, 1},
    {0, kMostBytes - 4096, 1},
}};
constexpr std::array kChunks = {"0", "4096", "1000"};

}  // namespace

/// The number of rails, the chunk and the nodes turn in such a way that each algorithm and each number of ranks meets
/// all.
Settings World::settings() const {
  const std::size_t column = index % kAlgorithms.size(), row = index / kAlgorithms.size();
  return {{"single_node", std::to_string(1 + (row + column) % 3)},
          {"algorithm", algorithm},
          {"shared_memory", "0"},
          {"chunk", kChunks[(2 * row + column) % 3]},
          {"small_max", std::to_string(kSmallMax)},
          {"mesh_block", std::to_string(kMeshBlock)}};
}

std::vector<std::string> World::nodes() const {
  std::vector<std::string> names;
  const bool mixed = (index % kAlgorithms.size() / 3 + index / kAlgorithms.size()) % 2 != 0;
  for (int rank = 0; rank < ranks; ++rank) names.push_back(mixed && rank % 2 != 0 ? "there" : "here");
  return names;
}

World world(std::size_t index) {
  return {index, kRankCounts[index / kAlgorithms.size()], kAlgorithms[index % kAlgorithms.size()]};
}

std::size_t count_choice(std::size_t choice, std::size_t element, int ranks) {
  const Count& count = kCounts[choice];
  const std::size_t bytes = count.each ? count.bytes * static_cast<std::size_t>(ranks) : count.bytes;
  // A block of whole elements may be longer than bytes / ranks, so one element more for each rank crosses the limit.
  const std::size_t more = count.each ? count.more * static_cast<std::size_t>(ranks) : count.more;
  const std::size_t wanted = count.elements != 0 ? count.elements : bytes / element + more;
  return std::min(wanted, (slowed_down() ? kMostBytesSlow : kMostBytes) / element);
}

Case make_case(const World& world, std::size_t kind) {
  const std::size_t choice = (kind + world.index) % kCountChoices;
  return {kind, choice, (kind / kCountChoices + kind + world.index / kCountChoices) % 2 == 0};
}

}  // namespace nezha::test
