// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hierarchy.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tuning/candidates.h"

namespace nezha {
namespace {

/// What the id of the first track's operations between nodes differs by from the team's; those of the others follow.
constexpr TeamId kBetween = 0x9e3779b97f4a7c15;

std::size_t smallest(const RanksByNode& nodes) {
  return std::min_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })
      ->size();
}

}  // namespace

Hierarchy::Hierarchy(Spec spec, NodeAcceptor* acceptor) : spec_(std::move(spec)) {
  const auto [own, ranks] = counterparts(spec_.nodes, spec_.rank);
  node_of_.resize(spec_.peers.size());
  for (std::size_t node = 0; node < spec_.nodes.size(); ++node)
    for (const int rank : spec_.nodes[node]) node_of_[static_cast<std::size_t>(rank)] = static_cast<int>(node);
  mates_ = spec_.nodes[static_cast<std::size_t>(own)];
  self_ = static_cast<std::uint32_t>(std::find(mates_.begin(), mates_.end(), spec_.rank) - mates_.begin());
  places_.resize(mates_.size());
  std::iota(places_.begin(), places_.end(), 0U);
  most_carriers_ = nodes() > 1 ? smallest(spec_.nodes) : 0;
  has_columns_ = Columns::possible(spec_.nodes);
  const auto peer = [&](int rank) { return spec_.peers[static_cast<std::size_t>(rank)]; };
  if (self_ < most_carriers_) {
    rank_at_ = ranks;
    std::vector<Peer*> peers;
    for (const int rank : rank_at_) peers.push_back(peer(rank));
    view_.size = nodes();
    view_.position = own;
    numbers_.resize(rank_at_.size());
    std::iota(numbers_.begin(), numbers_.end(), 0);
    view_.rank_at = numbers_;
    view_.buffers = spec_.buffers;
    links_ = Links(peers, view_.position, spec_.all, spec_.need);
    links_.fill(view_);
  }
  const Columns columns = has_columns_ ? Columns(spec_.nodes) : Columns();
  for (std::size_t i = 0; i < kNodeTracks; ++i)
    tracks_.push_back(std::make_unique<HierarchyTrack>((spec_.team ^ kBetween) + i, carries() ? &view_ : nullptr, *spec_.buffers,
                                                       columns, spec_.clock));
  under_way_.reserve(tracks_.size());
  if (mates_.size() == 1) return;
  const SegmentSpec memory{.team = spec_.team,
                           .members = static_cast<std::uint32_t>(mates_.size()),
                           .self = self_,
                           .chunk = spec_.sharing.chunk,
                           .deadline = spec_.deadline,
                           .system = spec_.sharing.system};
  const auto has_acceptor = [&](int rank) {
    return rank == spec_.rank ? acceptor != nullptr : peer(rank)->address.acceptor != NodeName{};
  };
  if (!std::all_of(mates_.begin(), mates_.end(), has_acceptor)) {
    without_ = {Code::absent, "a process has no acceptor for it"};
  } else if (self_ != 0) {
    segment_ = std::make_unique<Segment>(memory, peer(mates_[0])->address.acceptor, peer(mates_[0])->secret);
  } else {
    segment_ = std::make_unique<Segment>(memory, *acceptor,
                                         [mates = mates_, peers = spec_.peers](std::uint32_t member, Secret& secret) {
                                           if (member == 0 || member >= mates.size()) return false;
                                           secret = peers[static_cast<std::size_t>(mates[member])]->secret;
                                           return true;
                                         });
  }
}

Hierarchy::Counterparts Hierarchy::counterparts(const RanksByNode& nodes, int rank) {
  Counterparts found;
  const auto of = [&](std::size_t node) { return std::find(nodes[node].begin(), nodes[node].end(), rank); };
  std::size_t own = 0;
  while (of(own) == nodes[own].end()) ++own;
  found.own = static_cast<int>(own);
  const auto place = static_cast<std::size_t>(of(own) - nodes[own].begin());
  if (nodes.size() == 1 || place >= smallest(nodes)) return found;
  for (const std::vector<int>& ranks : nodes) found.ranks.push_back(ranks[place]);
  return found;
}

std::size_t Hierarchy::carriers(const Call& call) const {
  if (most_carriers_ == 0) return has_blocks(call.collective) ? places_.size() : 0;
  if (call.collective == Collective::allgather) return blocks().columns().count(call.bytes() / spec_.sharing.least_column);
  if (call.carriers != 0) return std::min(call.carriers, most_carriers_);
  return carriers_by_size(call.bytes(), spec_.sharing.least_part, most_carriers_);
}

std::size_t Hierarchy::segment(const Call& call) const {
  if (most_carriers_ == 0) return call.bytes();
  const SharingOptions& sharing = spec_.sharing;
  const std::size_t parts = carriers(call), element = call.element;
  const std::size_t part = (call.count + parts - 1) / parts * element;
  const std::size_t segment = std::clamp(part / sharing.segments, sharing.least_segment, sharing.most_segment);
  if (has_blocks(call.collective) && !blocks().as_allreduce(call.collective, parts))  // few carriers gather all of a part before
    return blocks().columns().segment(call.bytes(), element, parts, blocks().columns().few(parts) ? part : segment);
  return std::max<std::size_t>(std::min(segment, part) / element, 1) * element;
}

double Hierarchy::rate() const { return carries() ? next().rate() : 0; }

double Hierarchy::best_rate() const { return carries() ? next().best_rate() : 0; }

void Hierarchy::progress(Nanoseconds now) {
  if (!segment_) return;
  if (segment_->progress(now) != Segment::State::ready || life_) return;
  const NodeStageOptions options{.access = segment_->access(),
                                 .single_copy_from = spec_.sharing.single_copy_from,
                                 .single_copy_chunk = spec_.sharing.single_copy_chunk,
                                 .clock = spec_.clock,
                                 .system = spec_.sharing.system};
  for (std::size_t i = 0; i < tracks_.size(); ++i) tracks_[i]->share(segment_->memory().on(i), options);
  life_.emplace(segment_->memory());
}

std::vector<TeamId> Hierarchy::ids() const {
  std::vector<TeamId> all;
  for (const auto& track : tracks_) all.push_back(track->id());
  return all;
}

Hierarchy::Times& Hierarchy::Times::operator+=(const Times& other) {
  node += other.node;
  between += other.between;
  return *this;
}

Hierarchy::Times Hierarchy::times() const {
  Times all;
  for (const auto& track : tracks_)
    all += {track->stage() != nullptr ? track->stage()->times() : NodeTimes{}, track->between()};
  return all;
}

bool Hierarchy::beat() {
  if (life_) life_->beat();
  return life_.has_value();
}

std::optional<Nanoseconds> Hierarchy::quiet(int rank, Nanoseconds now) {
  const std::optional<std::uint32_t> member = mate(rank);
  if (!life_ || !member) return std::nullopt;
  return life_->quiet(*member, now);
}

/// The rank's number among those of this node.
std::optional<std::uint32_t> Hierarchy::mate(int rank) const {
  const auto found = std::find(mates_.begin(), mates_.end(), rank);
  if (found == mates_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - mates_.begin());
}

Status Hierarchy::trouble() const {
  if (!without_.ok()) return without_;
  return segment_ && segment_->state() == Segment::State::absent ? segment_->why() : Status{};
}

std::string Hierarchy::access() const {
  if (!life_) return "alone on its node";
  return segment_->access() == NodeAccess::single_copy ? "two copies, single copy would be possible"
                                                       : "two copies, since " + segment_->why_copies();
}

HierarchyTrack::Root Hierarchy::root_of(const Call& call) const {
  if (!call.rooted()) return {};
  return {mate(call.root).value_or(kNoMember), node_of_[static_cast<std::size_t>(call.root)]};
}

Hierarchy::Ticket Hierarchy::begin_on(std::size_t track, const Call& call, AlgorithmChoice choice) {
  const OpNumber number = tracks_[track]->begin(call, choice, std::span(places_).first(carriers(call)), segment(call), root_of(call));
  under_way_.push_back(tracks_[track].get());
  return {track, number};
}

Hierarchy::Ticket Hierarchy::begin_request(const Call& call, AlgorithmChoice choice) {
  const std::size_t track = next_track();
  ++requests_;
  return begin_on(track, call, choice);
}

bool Hierarchy::poll() {
  bool moved = false;
  for (HierarchyTrack* track : under_way_) moved = track->poll() || moved;
  std::erase_if(under_way_, [](const HierarchyTrack* track) { return !track->under_way(); });
  return moved;
}

bool Hierarchy::awaits(int rank) const {
  if (!under_way() || rank == spec_.rank) return false;
  // One that is gone, having left or given up, shows no life any more: it has done all its part, or look_for_gone() finds it
  // missing.
  if (const auto member = mate(rank); life_ && member) return segment_->memory().gone(*member) == NodeEnd::none;
  const Trunk* trunk = spec_.peers[static_cast<std::size_t>(rank)]->trunk.get();
  const int number = trunk == nullptr ? -1 : links_.number_of(*trunk);
  return number >= 0 && std::any_of(under_way_.begin(), under_way_.end(), [&](const HierarchyTrack* track) {
           return track->operations()->awaits(static_cast<std::size_t>(number));
         });
}

int Hierarchy::lost_member(std::string& why) const {
  for (const HierarchyTrack* track : under_way_) {
    const NodeStage* const stage = track->stage();
    if (stage == nullptr || stage->failed().ok()) continue;
    why = stage->failed().text();
    const std::size_t member = stage->failed_member();
    return member < mates_.size() ? mates_[member] : static_cast<int>((member - mates_.size()) % spec_.peers.size());
  }
  return -1;
}

void Hierarchy::fail(const Failure& failure) {
  const auto elsewhere = static_cast<std::uint32_t>(mates_.size()) + failure.of;
  if (life_) segment_->memory().give_up(mate(static_cast<int>(failure.of)).value_or(elsewhere));
  for (const auto& track : tracks_) track->fail(failure, track == tracks_.front());
  under_way_.clear();
}

NodeMemory* Hierarchy::only_node() {
  const bool only = under_way() && std::all_of(under_way_.begin(), under_way_.end(), [](const HierarchyTrack* track) {
                      return track->waits_for_node_only();
                    });
  return only ? &segment_->memory() : nullptr;
}

}  // namespace nezha
