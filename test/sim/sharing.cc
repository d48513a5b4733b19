// SPDX-License-Identifier: BSD-3-Clause
#include "sharing.h"

#include <algorithm>

namespace nezha::test {
namespace {

/// A power of two times `least`, all as likely.
std::size_t draw_doubled(SimRandom& random, std::size_t least, std::size_t times) {
  return least << random.below(times + 1);
}

}  // namespace

Sharing draw_sharing(SimRandom& random, int ranks) {
  constexpr Refusal kRefusals[] = {Refusal::listening, Refusal::making, Refusal::mapping, Refusal::reading};
  Sharing sharing;
  sharing.any = true;
  SharingOptions& options = sharing.options;
  options.chunk = draw_doubled(random, 4 * 1024, 4);
  options.segments = 1 + random.below(8);
  options.least_segment = draw_doubled(random, 1024, 6);
  options.most_segment = 8 * options.least_segment;
  options.least_part = options.least_column = draw_doubled(random, 512, 6);
  options.single_copy_from = random.chance(0.4) ? draw_doubled(random, 1024, 6) : SIZE_MAX;
  options.single_copy_chunk = draw_doubled(random, 8 * 1024, 7);
  if (random.chance(0.2)) sharing.refusal = kRefusals[random.below(std::size(kRefusals))];
  sharing.refused = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
  return sharing;
}

std::vector<int> draw_nodes(SimRandom& random, int ranks) {
  const std::uint64_t most = 1 + random.below(static_cast<std::uint64_t>(std::min(4, ranks - 1)));
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(static_cast<int>(random.below(most)));
  if (random.chance(0.5)) std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::string Sharing::text() const {
  constexpr const char* kRefused[] = {"", ", no socket", ", no memory", ", no mapping", ", no reading"};
  if (!any) return "";
  std::string text = ", nodes share memory by " + std::to_string(options.chunk) + ", segments of " +
                     std::to_string(options.least_segment) + ", parts of " + std::to_string(options.least_part);
  if (options.single_copy_from != SIZE_MAX) text += ", single copy from " + std::to_string(options.single_copy_from);
  const std::string refused = kRefused[static_cast<int>(refusal)];
  return text + refused + (refused.empty() ? "" : " for rank " + std::to_string(this->refused));
}

}  // namespace nezha::test
