// SPDX-License-Identifier: BSD-3-Clause
/// The core's part of the table files: what teams begin with, and what is left of them.
#include <algorithm>

#include "engine/core.h"

namespace nezha {

static_assert(kMostRails == kMaxRails && kMaxRails <= 8 * sizeof(RailSet));

namespace {

RailNames names_of(std::span<const RailAddress> rails) {
  RailNames names;
  for (const RailAddress& rail : rails) names.push_back(rail.label());
  return names;
}

bool same_name(const RailAddress& a, const RailAddress& b) { return a.transport == b.transport && a.name == b.name; }

}  // namespace

RailNames Core::rails_of_first(const Team& team) const {
  return names_of(team.rank() == 0 ? self_.rails : team.peers().front()->address.rails);
}

RailSet Core::rails_here(const Team& team, RailSet rails) const {
  if (team.rank() == 0 || rails == 0) return rails;
  const Peer& first = *team.peers().front();
  RailSet here = 0;
  if (!first.same_node) {
    for (const RailPair pair : pairs_with(first))
      if (pair.local != kLoopbackRail && has(rails, pair.remote)) here |= only(pair.local);
    return here;
  }
  for (std::size_t rail = 0; rail < self_.rails.size(); ++rail)
    for (std::size_t other = 0; other < first.address.rails.size(); ++other)
      if (has(rails, other) && same_name(self_.rails[rail], first.address.rails[other])) here |= only(rail);
  return here;
}

void Core::take_rows(Team& team) {
  Table::Recalled recalled;
  const std::vector<std::uint64_t> rows = team.take_rows(recalled);
  compare_rows(team, rows);
  if (team.rank() != 0) return;
  log_.line(1, "team %s: %zu message sizes are known from %s", team.name().c_str(), recalled.classes,
            tables_.path().text.c_str());
  if (recalled.left_out != 0)
    notices_.push_back({"table partly used",
                        {tables_.path().text, team.name(), std::to_string(recalled.left_out), recalled.example,
                         team.plan().reproducible ? "reproducible allows only ring, mesh and single_step"
                                                  : "it cannot carry vectors of all these sizes"}});
  const Lacking lacking = tables_.lacking(team.shape(), rails_of_first(team));
  if (lacking.classes != 0 && team.plan().algorithm == AlgorithmChoice::automatic)
    notices_.push_back({"table partly used", {tables_.path().text, team.name(), std::to_string(lacking.classes), lacking.example,
                                              "the node of the communicator's rank 0 has no such rail"}});
}

/// A rank that was given a file with other contents is to know that they do not count. One without a file is not.
void Core::compare_rows(const Team& team, std::span<const std::uint64_t> rows) {
  if (team.rank() == 0) return;
  const std::vector<std::uint64_t> own = tables_.rows(team.shape(), rails_of_first(team));
  if (!own.empty() && !std::equal(own.begin(), own.end(), rows.begin(), rows.end()))
    notices_.push_back(team.differing("  coll_nezha_table: a file with other contents than that of rank 0, or rank 0 has none: " +
                                      tables_.path().text));
}

void Core::keep_table(const Team& team) {
  if (!tables_.saves()) return;
  tables_.keep(team.shape(), team.table(), names_of(self_.rails));
}

TableFiles Core::learned_tables() {
  for (const auto& team : teams_) keep_table(*team);
  return tables_;
}

/// What the teams that the peer is in have measured no longer holds, and Open MPI's own allreduce may run over what was lost.
void Core::lanes_changed(const Peer& peer, bool lost) {
  for (const auto& team : teams_) {
    if (team->needs(peer)) team->lanes_changed(lost);
  }
}

std::array<std::uint64_t, kMaxRails> Core::sent() const {
  std::array<std::uint64_t, kMaxRails> sent{};
  for (std::size_t rail = 0; rail < std::min(loads_.size(), sent.size()); ++rail) sent[rail] = loads_[rail].bytes_sent;
  return sent;
}

}  // namespace nezha
