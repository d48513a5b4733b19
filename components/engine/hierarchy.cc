// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hierarchy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nezha {
namespace {

/// Chunks that the ranks of a node work on in turn.
constexpr std::size_t kNodeChunk = 256 * 1024;
/// A part goes in about so many segments, unless they would be smaller or larger than that.
constexpr std::size_t kSegments = 8;
constexpr std::size_t kLeastSegment = 256 * 1024;
constexpr std::size_t kMostSegment = 2 * 1024 * 1024;
/// A part that is smaller costs another rank more than it relieves the others of.
constexpr std::size_t kLeastPart = 32 * 1024;
/// What the ids of the operations between nodes differ by from the team's.
constexpr TeamId kBetween = 0x9e3779b97f4a7c15;

std::size_t smallest(const RanksByNode& nodes) {
  return std::min_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })
      ->size();
}

}  // namespace

Hierarchy::Hierarchy(Spec spec, NodeAcceptor* door) : spec_(std::move(spec)), id_(spec_.team ^ kBetween) {
  const auto [own, ranks] = counterparts(spec_.nodes, spec_.rank);
  mates_ = spec_.nodes[static_cast<std::size_t>(own)];
  self_ = static_cast<std::uint32_t>(std::find(mates_.begin(), mates_.end(), spec_.rank) - mates_.begin());
  for (std::uint32_t carrier = 0; nodes() > 1 && carrier < smallest(spec_.nodes); ++carrier) carriers_.push_back(carrier);
  const auto peer = [&](int rank) { return spec_.peers[static_cast<std::size_t>(rank)]; };
  if (self_ < carriers_.size()) {
    rank_at_ = ranks;
    std::vector<Peer*> peers;
    for (const int rank : rank_at_) peers.push_back(peer(rank));
    view_.size = nodes();
    view_.position = own;
    view_.rank_at = rank_at_;
    view_.buffers = spec_.buffers;
    links_ = Links(peers, view_.position, spec_.all, spec_.need);
    links_.fill(view_);
    operations_.emplace(view_, 0);
    operations_->set_team(id_);
  }
  if (mates_.size() == 1) return;
  const SegmentSpec memory{.team = spec_.team,
                           .members = static_cast<std::uint32_t>(mates_.size()),
                           .self = self_,
                           .chunk = kNodeChunk,
                           .deadline = spec_.deadline};
  const auto has_door = [&](int rank) {
    return rank == spec_.rank ? door != nullptr : peer(rank)->address.door != NodeName{};
  };
  if (!std::all_of(mates_.begin(), mates_.end(), has_door)) {
    without_ = {Code::absent, "a process has no door for it"};
  } else if (self_ != 0) {
    segment_ = std::make_unique<Segment>(memory, peer(mates_[0])->address.door, peer(mates_[0])->secret);
  } else {
    segment_ = std::make_unique<Segment>(memory, *door,
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

std::size_t Hierarchy::carriers(std::size_t bytes) const {
  return carriers_.empty() ? 0 : std::clamp<std::size_t>(bytes / kLeastPart, 1, carriers_.size());
}

std::size_t Hierarchy::segment(std::size_t bytes, std::size_t element) const {
  if (carriers_.empty()) return bytes;
  const std::size_t parts = carriers(bytes);
  const std::size_t part = (bytes / element + parts - 1) / parts * element;
  const std::size_t segment = std::clamp(part / kSegments, kLeastSegment, kMostSegment);
  return std::max<std::size_t>(std::min(segment, part) / element, 1) * element;
}

double Hierarchy::rate() const { return carries() ? next().rate() : 0; }

double Hierarchy::best_rate() const { return carries() ? next().best_rate() : 0; }

void Hierarchy::progress(Nanoseconds now) {
  if (!segment_) return;
  if (segment_->progress(now) != Segment::State::ready || stage_) return;
  stage_.emplace(segment_->memory(), NodeStageOptions{.access = segment_->access(), .clock = spec_.clock});
  life_.emplace(segment_->memory());
}

Hierarchy::Times& Hierarchy::Times::operator+=(const Times& other) {
  node += other.node;
  between += other.between;
  return *this;
}

Hierarchy::Times Hierarchy::times() const { return {stage_ ? stage_->times() : NodeTimes{}, between_}; }

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
  if (!stage_) return "alone on its node";
  return segment_->access() == NodeAccess::single_copy ? "two copies, single copy would be possible"
                                                       : "two copies, since " + segment_->why_copies();
}

void Hierarchy::begin(const Call& call, AlgorithmChoice choice) {
  call_ = call;
  choice_ = choice;
  segment_bytes_ = segment(call.bytes(), call.element);
  if (stage_) {
    stage_->begin(
        {call.send, call.recv, call.bytes(), call.reducer, std::span(carriers_).first(carriers(call.bytes()))});
    part_ = stage_->part();
  } else {
    part_ = {0, call.bytes()};
  }
  begun_ = part_.begin;
  under_way_ = true;
}

bool Hierarchy::poll() {
  bool moved = stage_ && stage_->poll();
  if (carries()) {
    moved = end_segments() || moved;
    moved = begin_segments() || moved;
  }
  look_whether_over();
  return moved;
}

bool Hierarchy::begin_segments() {
  const std::size_t before = begun_;
  while (begun_ < part_.end && operations_->room() && count_ < sent_.size()) {
    const std::size_t end = std::min(begun_ + segment_bytes_, part_.end);
    if (ready() < end) break;
    Call segment = call_;
    segment.send = (stage_ ? call_.recv : call_.send) + begun_;
    segment.recv = call_.recv + begun_;
    segment.count = (end - begun_) / call_.element;
    segment.whole = call_.bytes();
    segment.reducer.begin = call_.reducer.begin + begun_;
    sent_[(first_ + count_++) % sent_.size()] = {operations_->start(segment, choice_), end};
    begun_ = end;
  }
  if (begun_ != before && between_since_ == 0 && spec_.clock != nullptr) between_since_ = spec_.clock->now();
  return begun_ != before;
}

bool Hierarchy::end_segments() {
  bool any = false;
  for (; count_ != 0 && operations_->finished(sent_[first_].number); first_ = (first_ + 1) % sent_.size(), --count_) {
    if (stage_) stage_->supply(sent_[first_].end);
    any = true;
  }
  if (count_ == 0 && between_since_ != 0) between_ += spec_.clock->now() - std::exchange(between_since_, 0);
  return any;
}

void Hierarchy::look_whether_over() {
  if (carries() && (count_ != 0 || begun_ != part_.end)) return;
  if (!stage_ || stage_->over()) under_way_ = false;
}

bool Hierarchy::awaits(int rank) const {
  if (!under_way_ || rank == spec_.rank) return false;
  if (stage_ && mate(rank)) return true;
  const Trunk* trunk = spec_.peers[static_cast<std::size_t>(rank)]->trunk.get();
  const int number = trunk == nullptr ? -1 : links_.number_of(*trunk);
  return number >= 0 && operations_->awaits(static_cast<std::size_t>(number));
}

int Hierarchy::lost_member() const {
  if (!stage_ || stage_->failed().ok()) return -1;
  const std::size_t member = stage_->failed_member();
  return member < mates_.size() ? mates_[member] : static_cast<int>((member - mates_.size()) % spec_.peers.size());
}

void Hierarchy::fail(const Failure& failure) {
  const auto elsewhere = static_cast<std::uint32_t>(mates_.size()) + failure.of;
  if (stage_) stage_->give_up(mate(static_cast<int>(failure.of)).value_or(elsewhere));
  if (operations_) operations_->fail(failure);
  under_way_ = false;
  count_ = 0;
}

NodeMemory* Hierarchy::only_node() { return under_way_ && stage_ && count_ == 0 ? &segment_->memory() : nullptr; }

}  // namespace nezha
