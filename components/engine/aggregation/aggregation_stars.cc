// SPDX-License-Identifier: BSD-3-Clause
/// The part of the service that is about stars: who joins, when operations begin and end, memory.
#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "engine/aggregation/aggregation.h"

namespace nezha {
namespace {

/// A rack's aggregator passes on what its members may be in.
constexpr std::size_t kStarsOfRack = 4096;
/// Descriptions in a row. A rank that is refused tries again after eight calls at the earliest.
constexpr unsigned kMostFailed = 256;
constexpr const char *kNoMemory = "there is no memory for it", *kRefused = "the system refuses memory";

/// It says what its operation is: alone, or before the contribution to a small vector.
bool describes(const PieceHeader& piece) {
  return piece.step == kStarDescription || piece.step == kStarWhole;
}

bool well_formed(const PieceHeader& piece) {
  if (piece.offset != 0) return false;
  if (piece.step == kStarDescription) return piece.length == kStarDescriptionSize;
  return piece.length > kStarDescriptionSize && piece.length <= kStarDescriptionSize + kLargestWhole;
}

}  // namespace

HostedStar* Aggregation::find(TeamId id) const {
  const auto found = stars_.find(id);
  return found == stars_.end() ? nullptr : found->second.get();
}

// ---- what comes

Placement Aggregation::place(Trunk& trunk, const PieceHeader& piece) {
  const HostedStar* const star = find(piece.team);
  const bool next = star == nullptr || piece.op > star->begun();
  if (describes(piece) && next) return {well_formed(piece) ? PlaceKind::scratch : PlaceKind::bad};
  if (star == nullptr) return {PlaceKind::bin};  // it is gone: before its answer clients send nothing but descriptions
  const Placement placement = star->place(trunk, piece);
  if (placement.kind != PlaceKind::bad || !shared(trunk)) return placement;
  over_.emplace_back(piece.team, "an aggregator sends what it cannot have");
  return {PlaceKind::bin};
}

/// Between aggregators the communicators of many jobs share lanes, which one of them must not be able to close.
bool Aggregation::shared(const Trunk& trunk) const {
  if (upstream_ != nullptr && &trunk == upstream_->trunk.get()) return true;
  const auto client = clients_.find(trunk.peer());
  return client != clients_.end() && client->second.peer->address.job_rank == kNoRank;
}

void Aggregation::arriving(Trunk& trunk, const PieceHeader& piece) {
  if (HostedStar* const star = find(piece.team)) star->arriving(trunk, piece);
}

bool Aggregation::arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) {
  HostedStar* const star = find(piece.team);
  const bool next = star == nullptr || piece.op > star->begun();
  if (describes(piece) && next) {
    if (trunk.is_gone(piece.team)) return true;  // word that it has left came first, by another lane
    said_.push_back({trunk.peer(), piece.team, piece.op, {data, data + piece.length}});
    return true;
  }
  if (describes(piece)) return over_.emplace_back(piece.team, "a member describes an operation twice"), true;
  if (star != nullptr && !star->arrived(trunk, piece, data)) over_.emplace_back(piece.team, "a member sends what it cannot have");
  return true;
}

bool Aggregation::has_begun(TeamId id, OpNumber op) {
  const HostedStar* const star = find(id);
  return star != nullptr && star->has_begun(op);
}

void Aggregation::peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) {
  if (HostedStar* const star = find(id)) star->peer_at(trunk, begun, ended);
}

/// In the middle of a frame.
void Aggregation::failed(TeamId id) {
  over_.emplace_back(id, in_rack_ ? "a member or the upstream aggregator has left it" : "a member has left it");
}

// ---- descriptions

void Aggregation::hear(const Said& said) {
  const auto client = clients_.find(said.by);
  if (client == clients_.end()) return;
  Client& from = client->second;
  const Peer& peer = *from.peer;
  if (!peer.trunk->may_tell()) return drop_client(said.by, "it does not acknowledge what it is told");
  Status status;
  try {
    status = join(said, from);
  } catch (const std::bad_alloc&) {
    status = {Code::busy, kRefused};
  }
  if (status.ok()) return from.in_row = 0, void();
  if (std::has_single_bit(++from.failed))
    core_.log().line(1, "%s: %s (%llu times so far)", peer.label().c_str(), status.text().c_str(),
                     static_cast<unsigned long long>(from.failed));
  if (!shared(*peer.trunk) && ++from.in_row >= kMostFailed)
    return drop_client(said.by, "none of its latest descriptions was good");
  if (const HostedStar* star = find(said.team); star != nullptr && star->client(*peer.trunk) >= 0)
    return give_up(said.team, status.text());
  peer.trunk->tell_failed(said.team, 0, {});  // who is no member cannot end it
  peer.trunk->forget_team(said.team);
}

Status Aggregation::join(const Said& said, Client& from) {
  const Peer& peer = *from.peer;
  StarDescription description;
  const std::span<const std::byte> bytes = said.bytes, contribution = bytes.subspan(kStarDescriptionSize);
  if (Status status = read_description(bytes.first(kStarDescriptionSize), description); !status.ok()) return status;
  if (contribution.size() != (description.terms.whole ? description.bytes() : 0))
    return {Code::bad_wire, "a contribution of " + std::to_string(contribution.size()) + " bytes"};
  HostedStar* star = find(said.team);
  const bool comes = star == nullptr || star->client(*peer.trunk) < 0;
  if (comes && from.stars >= (shared(*peer.trunk) ? kStarsOfRack : limits_.stars))
    return {Code::busy, "it is in too many communicators"};
  if (star == nullptr)
    if (Status status = open(said.team, description.terms.members, peer, star); !status.ok()) return status;
  if (description.terms.members != star->members()) return {Code::bad_peer, "members differ on how many they are"};
  if (!star->seat(description.terms.position, *peer.trunk)) return {Code::bad_peer, "two members say that they are the same one"};
  if (comes) ++from.stars;
  if (said.op != star->begun() + 1) return {Code::bad_peer, "an operation comes out of turn"};
  if (star->descriptions() != 0 && !star->description().agrees(description))
    return {Code::bad_peer, "members differ on an operation"};
  if (star->descriptions() == 0) {
    const bool rack = star->tier() == StarTier::rack;
    const std::uint64_t memory = rack ? description.climb_memory() : description.terms.whole ? description.memory(star->members()) : 0;
    if (!reserve(*star, memory)) return {Code::busy, kNoMemory};
    star->next_memory = memory;
  }
  if (!star->describe(description)) return {Code::bad_peer, "a member describes an operation twice"};
  if (star->tier() == StarTier::rack)
    star->climb(said.op, description, bytes);
  else if (description.terms.whole)
    star->keep(description, contribution);
  attended_.add(*star);
  return {};
}

Status Aggregation::open(TeamId id, std::size_t members, const Peer& first, HostedStar*& star) {
  const bool from_rack = first.address.job_rank == kNoRank;
  const std::uint64_t memory = HostedStar::memory_of(members);
  if (star_memory_ + memory > limits_.memory) return {Code::busy, "there is no memory for more communicators"};
  if (in_rack_ && (upstream_ == nullptr || upstream_->trunk->lanes_up() == 0))
    return {Code::busy, "there is no lane to the upstream aggregator"};
  const StarTier tier = in_rack_ ? StarTier::rack : from_rack ? StarTier::upstream : StarTier::single;
  Trunk* const upstream = in_rack_ ? upstream_->trunk.get() : nullptr;
  star = (stars_[id] = std::make_unique<HostedStar>(id, members, tier, upstream, core_.buffer_pool())).get();
  star_memory_ += memory;
  return {};
}

// ---- operations

void Aggregation::attend() {
  for (HostedStar* const star : attended_) {
    if (star->under_way() && star->finished()) end(*star);
    if (star->ready() && begin(*star) && star->finished()) end(*star);  // a small vector's sum leaves at once
  }
  attended_.keep([](const HostedStar& star) { return star.busy(); });
}

bool Aggregation::reserve(const HostedStar& star, std::uint64_t memory) {
  const std::uint64_t of_star = star.memory + star.next_memory + memory;
  if (of_star > limits_.star || memory_ + memory > limits_.memory) return false;
  memory_ += memory;
  return true;
}

bool Aggregation::reserve_kept(HostedStar& star) {
  const std::uint64_t kept = std::max(star.kept, star.kept_from_then());
  if (star_memory_ + kept - star.kept > limits_.memory) return false;
  star_memory_ += kept - std::exchange(star.kept, kept);
  return true;
}

/// False: it is to be given up.
bool Aggregation::begin(HostedStar& star) {
  const std::uint64_t memory = star.memory_to_begin();
  if (!reserve_kept(star) || !reserve(star, memory)) return lacks(star, memory, kNoMemory);
  star.memory = std::exchange(star.next_memory, 0) + memory;
  bool begun = true;
  try {
    star.begin();
  } catch (const std::bad_alloc&) {
    begun = lacks(star, memory, kRefused);
  }
  if (star.under_way()) ++under_way_;
  return begun;
}

/// Its ranks only see that they go over their rails.
bool Aggregation::lacks(const HostedStar& star, std::uint64_t memory, const char* why) {
  if (std::has_single_bit(++lacks_))
    core_.log().line(1, "an operation of %zu ranks needs %llu bytes: %s (%llu times so far)", star.members(),
                     static_cast<unsigned long long>(memory), why, static_cast<unsigned long long>(lacks_));
  over_.emplace_back(star.id(), why);
  return false;
}

void Aggregation::end(HostedStar& star) {
  star.end();
  memory_ -= std::exchange(star.memory, 0);
  --under_way_;
  ++counts_.operations;
  counts_.bytes += star.bytes();
}

void Aggregation::give_up(TeamId id, const std::string& why) {
  const auto found = stars_.find(id);
  if (found == stars_.end()) return;
  HostedStar& star = *found->second;
  core_.log().line(2, "a communicator of %zu ranks is given up: %s", star.members(), why.c_str());
  star.give_up();
  star.each_client([this](const Trunk& trunk) {
    if (const auto client = clients_.find(trunk.peer()); client != clients_.end()) --client->second.stars;
  });
  memory_ -= star.memory + star.next_memory;
  star_memory_ -= HostedStar::memory_of(star.members()) + star.kept;
  if (star.under_way()) --under_way_;
  ++counts_.given_up;
  attended_.remove(star);
  stars_.erase(found);
}

}  // namespace nezha
