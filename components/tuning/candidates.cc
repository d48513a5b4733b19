// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/candidates.h"

#include <algorithm>
#include <bit>

#include "tuning/cost.h"
#include "tuning/siblings.h"
#include "util/text.h"

namespace nezha {
namespace {

constexpr double kUnknownRate = 0.125;  ///< 1 Gbit/s
constexpr double kHopeless = 1.9;       ///< times what the cheapest should cost

/// A block of so much is carried by several rails, which costs processors more than one rail does: where these are what
/// limits, one rail may be faster.
constexpr std::size_t kSplit = 16 * 1024;

/// Vectors that take longer keep the rails busy whoever carries them.
constexpr std::size_t kFewCarriers = 512 * 1024;

constexpr AlgorithmChoice kOwn[] = {AlgorithmChoice::single_step, AlgorithmChoice::doubling, AlgorithmChoice::mesh,
                                    AlgorithmChoice::halving, AlgorithmChoice::ring};

/// Whose bits are those of the ring's order; or, where there are no meshes and the ring would take too many steps for
/// small vectors, of the one algorithm for the class.
bool keeps_order(AlgorithmChoice algorithm, std::size_t size_class, const Terms& terms) {
  const std::size_t largest = (std::size_t{2} << size_class) - 1;
  const bool small = largest <= terms.plan.small_max && largest <= kMostCopied;
  if (small && !terms.plan.meshes(terms.senders())) return algorithm == fewest_steps(terms.senders());
  return algorithm == AlgorithmChoice::ring || needs_all_lanes(algorithm);
}

bool possible_within_node(const Candidate& candidate, const Terms& terms) {
  constexpr Candidate kMemory{AlgorithmChoice::memory}, kIncumbent{};
  return terms.within_node() && (candidate == kMemory || (candidate == kIncumbent && !terms.plan.reproducible));
}

/// Other blocks are added up in another order.
bool carriers_possible(const Candidate& candidate, const Terms& terms) {
  return terms.collective == Collective::allreduce && !terms.within_node() && candidate.carriers <= terms.carriers &&
         candidate.algorithm != AlgorithmChoice::incumbent && !terms.plan.reproducible;
}

/// Where processors are what limits, fewer ranks with larger messages are faster.
void add_fewer_carriers(std::vector<Candidate>& found, AlgorithmChoice algorithm, std::size_t bytes, const Terms& terms) {
  const Candidate one{algorithm, 0, false, 0, 1};
  if (bytes >= kFewCarriers || !carriers_possible(one, terms)) return;
  const std::size_t usual = carriers_by_size(bytes, terms.least_part, terms.carriers);
  if (usual > 1) found.push_back(one);
  if (usual > 3 && usual / 2 <= kMostCarriers) found.push_back({algorithm, 0, false, 0, static_cast<std::uint8_t>(usual / 2)});
}

}  // namespace

std::size_t size_class_of(std::size_t bytes) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)) - 1, kSizeClasses - 1);
}

std::string text_of(const Candidate& candidate, const RailNames& names, std::size_t size_class) {
  return text_of(candidate, names) + " from " + size_text(static_cast<long long>(std::size_t{1} << size_class)) + " bytes";
}

bool possible(const Candidate& candidate, std::size_t size_class, const Terms& terms) {
  if (candidate.carriers != 0 && !carriers_possible(candidate, terms)) return false;
  if (terms.within_node() || candidate.algorithm == AlgorithmChoice::memory) return possible_within_node(candidate, terms);
  if (terms.collective != Collective::allreduce) return sibling_possible(candidate, size_class, terms);
  if (needs_all_lanes(candidate.algorithm) && !terms.plan.meshes(terms.senders())) return false;
  if (terms.plan.reproducible && !keeps_order(candidate.algorithm, size_class, terms)) return false;
  const bool keeps = candidate.one_rail || candidate.rails != 0;
  if (keeps && candidate.algorithm == AlgorithmChoice::incumbent) return false;
  const std::size_t largest = (std::size_t{2} << size_class) - 1;
  switch (candidate.algorithm) {
    case AlgorithmChoice::single_step:
    case AlgorithmChoice::doubling:
      return largest <= kMostCopied;
    case AlgorithmChoice::mesh:
    case AlgorithmChoice::halving:
      return largest <= kMostMesh;
    case AlgorithmChoice::automatic:
      return false;
    default:
      return true;
  }
}

std::uint64_t least_time(const Candidate& candidate, std::size_t size_class, const Terms& terms) {
  const double rate = candidate.one_rail ? terms.best_rail : terms.rate;
  if (!terms.alone || rate <= 0) return 0;
  if (candidate.algorithm == AlgorithmChoice::incumbent && !terms.incumbent_on_rails) return 0;
  const std::size_t bytes = std::size_t{1} << size_class;
  if (terms.collective != Collective::allreduce)
    return static_cast<std::uint64_t>(sibling_traffic(candidate, terms) * static_cast<double>(bytes) / rate);
  return static_cast<std::uint64_t>(least_cost(bytes, terms.senders(), rate));
}

std::vector<Candidate> candidates(std::size_t size_class, const Terms& terms) {
  if (terms.collective != Collective::allreduce) return sibling_candidates(size_class, terms);
  const std::size_t largest = (std::size_t{2} << size_class) - 1;
  const std::size_t bytes = std::min<std::size_t>(std::max<std::size_t>(std::size_t{1} << size_class, terms.plan.threshold), largest);
  Candidate first{terms.plan.choose(bytes, 1, terms.senders())};
  if (!possible(first, size_class, terms)) first.algorithm = terms.plan.choose(largest, 1, terms.senders());
  std::vector<Candidate> found{first};
  if (terms.plan.algorithm != AlgorithmChoice::automatic) return found;
  const double rate = terms.rate > 0 ? terms.rate : kUnknownRate;
  const auto price = [&](AlgorithmChoice algorithm) { return cost(algorithm, bytes, terms.senders(), rate); };
  double cheapest = price(first.algorithm);
  for (const AlgorithmChoice algorithm : kOwn)
    if (possible({algorithm}, size_class, terms)) cheapest = std::min(cheapest, price(algorithm));
  if (const Candidate incumbent{}; possible(incumbent, size_class, terms)) found.push_back(incumbent);
  const std::size_t measured_first = found.size();
  for (const AlgorithmChoice algorithm : kOwn)
    if (algorithm != first.algorithm && possible({algorithm}, size_class, terms) &&
        price(algorithm) <= kHopeless * cheapest)
      found.push_back({algorithm});
  std::stable_sort(found.begin() + static_cast<std::ptrdiff_t>(measured_first), found.end(),
                   [&](const Candidate& a, const Candidate& b) { return price(a.algorithm) < price(b.algorithm); });
  add_fewer_carriers(found, first.algorithm, bytes, terms);
  const bool split = terms.rails && bytes / static_cast<std::size_t>(terms.senders()) >= kSplit;
  for (const AlgorithmChoice algorithm : {AlgorithmChoice::ring, AlgorithmChoice::mesh})
    if (const Candidate narrow{algorithm, 0, true}; split && possible(narrow, size_class, terms))
      found.push_back(narrow);
  if (found.size() > kMostCandidates) found.resize(kMostCandidates);
  return found;
}

}  // namespace nezha
