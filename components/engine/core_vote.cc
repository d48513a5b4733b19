// SPDX-License-Identifier: BSD-3-Clause
/// A team comes to be: what its members agree on before its first operation, and what they wait for.
#include <algorithm>

#include "engine/core.h"

namespace nezha {

std::size_t Core::lanes_to_come(const Team& team) const {
  std::size_t lanes = 0;
  const auto add = [&](const Peer& peer) {
    for (const Wire& wire : peer.wires) lanes += !wire.there() && peer.needs(wire) ? 1 : 0;
  };
  for (const Peer* peer : open_)
    if (peer->wanted) add(*peer);
  for (const Peer* peer : team.would_need(Plan::from(config_))) {
    if (peer->wanted) continue;
    const std::vector<RailPair> pairs = pairs_with(*peer);
    if (peer->trunk)
      add(*peer);
    else
      lanes += !pairs.empty() && pairs.front().local == kLoopbackRail ? 1 : pairs.size();
  }
  return lanes;
}

bool Core::wired(const Team& team) const {
  if (team.within_node()) return team.hierarchy() != nullptr && team.hierarchy()->settled();
  return (team.next_peer().sample == Sample::done || !team.wants_rates()) && (team.hierarchy() == nullptr || team.hierarchy()->settled()) &&
         std::all_of(team.needed().begin(), team.needed().end(), [&](int rank) { return team.peer(rank).settled; });
}

void Core::vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  bool ready = wired(team);
  bool failed = rails() == 0 && !team.within_node();
  for (const int rank : team.needed()) {
    const Peer& peer = team.peer(rank);
    const std::size_t up = peer.trunk->lanes_up();
    ready = ready && up != 0;
    failed = failed || (peer.settled && up == 0 && !peer.was_up());
  }
  TeamId fresh = 0;
  if (!draw_id_(fresh).ok()) failed = true;
  if (team.rank() == 0) {
    team.offer(tables_.rows(team.shape(), rails_of_first(team)));
    tables_.complain(notices_);
  }
  team.vote(words, Plan::from(config_), fresh, ready, failed);
}

nezha_team_state_t Core::decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  const nezha_team_state_t before = team.state();
  const bool was_to_share = team.hierarchy() != nullptr;
  const Status trouble = was_to_share ? team.hierarchy()->trouble() : Status{};
  setting_up_.add(team);
  sharing_.remove(team);  // its hierarchy may go
  const nezha_team_state_t after = team.decide(words, Plan::from(config_), notices_);
  if (team.hierarchy() != nullptr) sharing_.add(team);
  if (after == NEZHA_TEAM_WIRING && team.relinks()) team.link(team.plan(), need());
  all_are_there(team);
  if (team.wants_hierarchy()) {
    team.make_hierarchy(acceptor_ ? &*acceptor_ : nullptr, team.wiring_until() - kSecond, clock_, need(), sharing_options_);
    sharing_.add(team);
    all_are_there(team);
  }
  if (after == NEZHA_TEAM_WIRING) ask_for_life(team);
  if (before != after && after == NEZHA_TEAM_READY && team.hierarchy() != nullptr && team.stars() != nullptr)
    team.hierarchy()->use(*team.stars(), links_of_stars(team));
  if (before != after) decided(team, trouble, was_to_share);
  return after;
}

/// The team has become ready or was declined. `trouble`: of the memory that its nodes were to share.
void Core::decided(Team& team, const Status& trouble, bool was_to_share) {
  const bool ready = team.state() == NEZHA_TEAM_READY;
  log_.line(1, "team %s of %d ranks: %s", team.name().c_str(), team.size(), ready ? "ready" : "declined");
  if (!ready && team.within_node() && was_to_share)
    log_.line(1, "team %s is left to the incumbent: %s", team.name().c_str(),
              trouble.ok() ? "another rank shares no memory" : trouble.text().c_str());
  if (ready && was_to_share && team.hierarchy() == nullptr)
    log_.line(1, "team %s does not add up on its nodes first: %s", team.name().c_str(),
              trouble.ok() ? "ranks of another node share no memory" : trouble.text().c_str());
  if (ready) return make_ready(team);
  for (const int rank : team.needed())  // a process without rails has said so itself
    if (const Peer& peer = team.peer(rank);
        peer.settled && peer.trunk->lanes_up() == 0 && !peer.address.rails.empty() && !self_.rails.empty())
      notices_.push_back({"pair cannot connect", {team.name(), self_.node, peer.label()}});
}

/// Its pieces are taken from now on.
void Core::make_ready(Team& team) {
  ready_.add(team.id(), team);
  if (team.small() != nullptr) ready_.add(team.small()->id(), team);
  if (const Hierarchy* hierarchy = team.hierarchy()) {
    beat_due_ = clock_.now();
    for (const TeamId id : hierarchy->ids()) ready_.add(id, team);
    log_.line(1, "team %s adds up on its nodes first; here: %s", team.name().c_str(), hierarchy->access().c_str());
  }
  team.table().name_rails(rails_of_first(team));
  if (!team.rows_due()) compare_rows(team, {});
  take_early_failure(team);
}

/// Every member has the team now. Who came long before the others has waited for nobody: its patience begins here, for
/// lanes that nobody wanted before, for memory of nodes, and for a sample that the next vote waits for.
void Core::all_are_there(Team& team) {
  bool news = team.wants_hierarchy() || team.votes_again();
  for (const int rank : team.needed()) news = wiring_.wanted_by(team.peer(rank), clock_.now()) || news;
  if (news) team.set_wiring_until(clock_.now() + wiring_patience());
}

}  // namespace nezha
