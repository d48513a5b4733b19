// SPDX-License-Identifier: BSD-3-Clause
/// The part of the core that is about aggregators: processes that are no ranks, and what teams send through them.
#include "engine/combine.h"
#include "engine/core.h"

namespace nezha {

Peer* Core::add_outsider(Address address, const Secret& secret) {
  if (peers_.contains(address.id)) return nullptr;
  auto peer = std::make_unique<Peer>();
  peer->same_node = address.node == self_.node && !live_apart(self_.loopback, address.loopback);
  peer->address = std::move(address);
  peer->secret = secret;
  const ProcessId id = peer->address.id;
  Peer* const added = add(std::move(peer));
  try {
    open(*added);
    if (added->connects) wiring_.want(*added, clock_.now());
  } catch (...) {
    std::erase(open_, added);
    peers_.erase(id);
    throw;
  }
  return added;
}

void Core::remove_outsider(Peer& peer) {
  for (const auto& team : teams_) {
    if (team->stars() == nullptr) continue;
    team->stars()->each([&](Star& star) {
      if (star.trunk() == peer.trunk.get()) star.lost();
    });
  }
  if (guests_ != nullptr) guests_->going(*peer.trunk);
  std::erase_if(news_, [&](const auto& news) { return news.first == &peer; });
  wiring_.forget(peer);
  peer.trunk->close([this](Lane& lane) { dead_.emplace_back(&lane, place_of(lane.spec().local_rail).transport); });
  busy_.forget(*peer.trunk);
  std::erase(open_, &peer);
  peers_.erase(peer.address.id);
}

std::vector<Peer*> Core::aggregators() const {
  if (find_aggregators_) return find_aggregators_();
  return aggregators_ ? aggregators_->linked() : std::vector<Peer*>();
}

std::string Core::aggregator_trouble(std::size_t place) const { return aggregators_ ? aggregators_->trouble(place) : ""; }

void Core::greet_aggregators(const Secret& key) {
  if (aggregators_) aggregators_->begin(key);
}

void Core::join_stars(Team& team, std::span<Peer* const> linked) {
  Stars& stars = *team.stars();
  stars.combined();
  for (Stars::Index i = 0; i < Stars::kMost; ++i) {
    if (!stars.common(i)) continue;
    Peer* const peer = i < linked.size() ? linked[i] : nullptr;
    const bool there = peer != nullptr && peer->address.service() == stars.service(i);  // or it has gone while all agreed
    ready_.add(stars.join(i, there ? peer->trunk.get() : nullptr).id(), team);
    if (team.small() != nullptr) team.small()->trials().retry();
    if (there)
      log_.line(team.rank() == 0 ? 1 : 2, "team %s reduces through %s too", team.name().c_str(), peer->label().c_str());
  }
}

std::unique_ptr<StarLinks> Core::links_of_stars(Team& team) {
  struct Links final : StarLinks {
    Links(Core& core_, Team& team_) : core(core_), team(team_) {}
    std::vector<Peer*> linked() override { return core.aggregators(); }
    void join() override { core.join_stars(team, core.aggregators()); }
    std::vector<Unsummed> leave(const Call& call) override { return core.leave_stars(team, call); }

    Core& core;
    Team& team;
  };
  return std::make_unique<Links>(*this, team);
}

std::vector<Unsummed> Core::leave_stars(Team& team, const Call& call) {
  Stars& stars = *team.stars();
  std::vector<Unsummed> rest;
  for (Stars::Index i = 0; i < Stars::kMost; ++i) {
    if (!stars.lacking(i)) continue;
    Star& star = *stars.star(i);
    if (star.part().from != star.part().to) rest.push_back(star.take_back(call));
    go_without(team, i);
  }
  return rest;
}

bool Core::may_go_small(Team& team, const nezha_call_t& what) {
  return team.small() != nullptr && what.collective == NEZHA_ALLREDUCE &&
         !team.plan().leaves(what.count * what.element, what.element) && team.small()->can_take(what);
}

/// First whether all reach an aggregator, then whether all have a kernel, then which way was faster.
std::optional<Call> Core::small_words(Team& team, const nezha_call_t& what) {
  Stars& stars = *team.stars();
  if (!stars.in()) {
    if (!stars.small_agreement_due()) return std::nullopt;
    stars.vote(aggregators());
    return combine(stars.words(), NEZHA_BOR);
  }
  AgreedKinds& kinds = team.small()->kinds();
  if (kinds.of(what.element, what.op) == AgreedKinds::Answer::unknown)
    return combine(kinds.words(Star::reduces(what.type, what.op, what.element)), NEZHA_BOR);
  WayTrial& trial = team.small()->trials().of(what.count * what.element);
  if (!trial.agreement_due()) return std::nullopt;
  return combine(trial.words(), NEZHA_SUM);
}

void Core::small_agreed(Team& team, const nezha_call_t& what) {
  if (!team.stars()->in()) return join_stars(team, aggregators());
  AgreedKinds& kinds = team.small()->kinds();
  if (kinds.of(what.element, what.op) == AgreedKinds::Answer::unknown) return kinds.agreed(what.element, what.op);
  const std::size_t bytes = what.count * what.element;
  const int level = team.rank() == 0 ? 1 : 2;
  WayTrial& trial = team.small()->trials().of(bytes);
  trial.agreed();
  log_.line(level, "team %s, calls of %zu bytes: %s", team.name().c_str(), bytes, trial.story().c_str());
}

Star* Core::star_for_small(Team& team, const nezha_call_t& what) {
  Star* const star = team.small()->can_take(what) ? team.stars()->first() : nullptr;
  if (star == nullptr || team.stars()->take_all()) return star;
  const std::size_t bytes = what.count * what.element;
  if (!team.table().settled(bytes, what.element)) return nullptr;
  return team.small()->through(bytes) ? star : nullptr;
}

void Core::begin_stars(Team& team, const Call& call) {
  active_.add(team);
  team.stars()->begin(call, clock_.now());
}

/// It counts among the team's operations, so that ranks whose calls differ find out.
void Core::begin_small(Team& team, const Call& call, Star& star) {
  wiring_.used(clock_.now());
  leave_to_incumbent(team, call.bytes());
  if (!team.error().empty()) return;
  active_.add(team);
  team.small()->begin(call, star, clock_.now());
}

bool Core::small_settled(Team& team) {
  if (!team.error().empty()) return true;
  if (!team.small()->settled(clock_.now(), team.operations().overtaken())) return false;
  leave_lost_star(team);
  return true;
}

void Core::small_confirmed(Team& team) {
  if (team.small() == nullptr) return;
  team.small()->confirmed();
  leave_lost_star(team);
}

void Core::leave_lost_star(Team& team) {
  const TeamId lost = team.small()->take_lost();
  for (Stars::Index i = 0; lost != 0 && i < Stars::kMost; ++i) {
    const Star* const star = team.stars()->star(i);
    if (star != nullptr && star->id() == lost) return go_without(team, i);
  }
}

/// Its members may be in a call that this one has returned from.
void Core::let_part(std::unique_ptr<Team> team) {
  if (team->small() == nullptr || !team->error().empty()) return;
  team->small()->part();
  if (team->small()->parted(false)) return;
  parting_.push_back({std::move(team), clock_.now() + config_.timeout * kSecond});
}

/// A member lacks its sums.
void Core::go_without(Team& team, Stars::Index aggregator) {
  const std::string why = team.stars()->star(aggregator)->why();
  leave_star(team, aggregator);
  if (team.small() != nullptr) team.small()->kinds().forget();  // a member may have lacked a kernel
  log_.line(1, "team %s goes on without aggregator %s: %s", team.name().c_str(),
            config_.aggregators.entries[aggregator].text().c_str(), why.empty() ? "another rank lacks sums of it" : why.c_str());
}

void Core::leave_star(Team& team, Stars::Index aggregator) {
  const Star* const star = team.stars()->star(aggregator);
  if (star == nullptr) return;
  ready_.remove(star->id());
  team.stars()->leave(aggregator);
}

}  // namespace nezha
