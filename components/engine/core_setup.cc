// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that is about teams which are being wired, or whose lanes are sampled.
#include <algorithm>

#include "engine/core.h"
#include "engine/sampling.h"

namespace nezha {
namespace {

/// It is being wired, or its lanes are sampled, and its patience is not at an end.
bool is_in_wiring(const Team& team, Nanoseconds now) {
  return (team.state() == NEZHA_TEAM_WIRING && now < team.wiring_until()) ||
         (now < team.sampling_until() && team.lacks_rates());
}

/// The lanes to its next member have still to be sampled, if calls want that.
bool is_unsampled(const Team& team) { return !team.within_node() && team.next_peer().sample != Sample::done; }

/// And they are all there.
bool may_sample(const Team& team) { return is_unsampled(team) && team.next_peer().settled; }

bool samples(const Team& team) {
  return (team.state() == NEZHA_TEAM_WIRING || team.lacks_rates()) && team.wants_rates() && is_unsampled(team);
}

}  // namespace

/// A sample under way goes on whoever wants it: the team that began it may be gone.
void Core::step_samples(Nanoseconds now) {
  for (Team* const team : setting_up_)
    if (may_sample(*team)) step_sample(team->next_peer(), now, samples(*team));
  setting_up_.keep([now](const Team& team) { return is_in_wiring(team, now) || samples(team); });
}

void Core::sample(Team& team, std::size_t bytes) {
  if (!team.lacks_rates() || team.wants_rates()) return;
  setting_up_.add(team);
  team.foresee(bytes);
  team.set_sampling_until(clock_.now() + 2 * kSamplePatience);  // another rank may come to this call later
}

bool Core::wiring() const {
  return std::any_of(setting_up_.begin(), setting_up_.end(),
                     [now = clock_.now()](const Team* team) { return is_in_wiring(*team, now); });
}

/// Lanes are sampled or memory is joined, which goes on by steps. What else a team that is being wired waits for is
/// told by a descriptor or a deadline: it may wait long for members that come late, or for ever.
bool Core::setting_up() const {
  return std::any_of(setting_up_.begin(), setting_up_.end(), [now = clock_.now()](const Team* team) {
    if (!is_in_wiring(*team, now)) return false;
    if (team->hierarchy() != nullptr && !team->hierarchy()->settled()) return true;
    return team->wants_rates() && may_sample(*team);
  });
}

}  // namespace nezha
