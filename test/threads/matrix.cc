// SPDX-License-Identifier: BSD-3-Clause
#include "matrix.h"

#include <algorithm>

namespace nezha::test {
namespace {

constexpr std::size_t kSmallMax = 16 * 1024;  // of coll_nezha_small_max
constexpr std::size_t kMeshMax = 4 * 8 * 1024; // what coll_nezha_mesh_block leaves to the mesh of four ranks
constexpr std::size_t kMostCopied = 32 * 1024; // beyond it nothing goes in one pass
constexpr std::size_t kMostBytes = 2 * 1024 * 1024;

struct Count {
  std::size_t elements;  ///< or 0 and
  std::size_t bytes;     ///< so many whole elements,
  std::size_t more;      ///< and this many more
};
constexpr std::array<Count, kCountChoices> kCounts = {{
    {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {7, 0, 0}, {1023, 0, 0}, {65537, 0, 0},
    {0, kSmallMax, 0}, {0, kSmallMax, 1}, {0, kMostCopied, 0}, {0, kMostCopied, 1}, {0, kMeshMax, 0}, {0, kMeshMax, 1},
    {0, 840 * 1024, 0},  // whole chunks and blocks for every number of ranks here
    {0, 840 * 1024, 1}, {0, kMostBytes - 4096, 1},
}};
constexpr std::array kChunks = {"0", "4096", "1000"};

}  // namespace

Settings World::settings() const {
  return {{"single_node", std::to_string(1 + index % 3)}, {"algorithm", algorithm}, {"chunk", kChunks[index / 3 % 3]}};
}

std::vector<std::string> World::nodes() const {
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back(index % 2 != 0 && rank % 2 != 0 ? "there" : "here");
  return names;
}

World world(std::size_t index) {
  return {index, kRankCounts[index / kAlgorithms.size()], kAlgorithms[index % kAlgorithms.size()]};
}

std::size_t count_choice(std::size_t choice, std::size_t element) {
  const Count& count = kCounts[choice];
  const std::size_t wanted = count.elements != 0 ? count.elements : count.bytes / element + count.more;
  return std::min(wanted, kMostBytes / element);
}

Case make_case(const World& world, std::size_t kind) {
  const std::size_t choice = (kind + world.index) % kCountChoices;
  return {kind, choice, (kind / kCountChoices + kind + world.index / kCountChoices) % 2 == 0};
}

}  // namespace nezha::test
