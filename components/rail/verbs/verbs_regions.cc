// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_regions.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace nezha {

std::shared_ptr<ibv_mr> VerbsRegions::find(ibv_pd* domain, std::span<const std::byte> bytes, std::size_t reach) {
  unmapped_.read([this](std::uintptr_t from, std::uintptr_t to) { forget(from, to); });
  const auto from = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (in_heap(from, from + reach)) return nullptr;
  const auto behind = known_.upper_bound(from);
  if (behind != known_.begin())
    if (const Known& known = std::prev(behind)->second; known.end >= from + bytes.size()) return known.memory;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return add(domain, from / page * page, (from + reach + page - 1) / page * page);
}

/// Also where it fails something is kept, so that it is not tried again for each message. Rows that meet within a page both have it.
std::shared_ptr<ibv_mr> VerbsRegions::add(ibv_pd* domain, std::uintptr_t from, std::uintptr_t to) {
  if (to - from > most_) return nullptr;
  if (bytes_ + (to - from) > most_) clear();
  ibv_mr* const made = verbs_.reg_mr(domain, reinterpret_cast<void*>(from), to - from, 0);
  std::shared_ptr<ibv_mr> memory;
  if (made != nullptr) memory.reset(made, [&verbs = verbs_](ibv_mr* each) { verbs.dereg_mr(each); });
  Known& known = known_[from];
  if (known.end != 0) bytes_ -= known.end - from;
  known = {to, memory};
  bytes_ += to - from;
  longest_ = std::max(longest_, to - from);
  return memory;
}

void VerbsRegions::forget(std::uintptr_t from, std::uintptr_t to) {
  for (auto each = known_.lower_bound(from - std::min(from, longest_)); each != known_.end() && each->first < to;) {
    if (each->second.end <= from) {
      ++each;
      continue;
    }
    bytes_ -= each->second.end - each->first;
    each = known_.erase(each);
  }
}

bool VerbsRegions::clear() {
  const bool any = !known_.empty();
  known_.clear();
  bytes_ = 0;
  return any;
}

}  // namespace nezha
