// SPDX-License-Identifier: BSD-3-Clause
#include "alg/neighbours.h"

#include <algorithm>

#include "alg/doubling_partners.h"

namespace nezha {

std::vector<int> halved_distances(int size) {
  std::vector<int> distances;
  for (int distance = size; distance > 1;) distances.push_back(distance = (distance + 1) / 2);
  return distances;
}

std::vector<int> neighbours(int size, int position, bool all) {
  std::vector<int> found;
  for (int other = 0; all && other < size; ++other) found.push_back(other);
  for (const int distance : halved_distances(size)) {  // halving, its trees, the barrier; and 1 is the ring's
    found.push_back((position + distance) % size);
    found.push_back((position - distance + size) % size);
  }
  const DoublingPartners doubling(size, position);
  for (int step = 0; step <= doubling.result_step(); ++step)
    if (const int partner = doubling.partner(step); partner >= 0) found.push_back(partner);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase(found, position);
  return found;
}

}  // namespace nezha
