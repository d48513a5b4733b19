// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/hosted_star.h"

#include <algorithm>
#include <numeric>

#include "alg/star_layout.h"

namespace nezha {

HostedStar::HostedStar(TeamId id, std::size_t members, StarTier tier, Trunk* upstream, BufferPool& buffers)
    : id_(id), tier_(tier), holders_(members, -1), upstream_(upstream), described_(members, false) {
  view_.buffers = &buffers;
  if (tier == StarTier::single) {
    trunks_.assign(members, nullptr);
    fix_view();
  }
  if (upstream == nullptr) return;
  up_view_.size = 2;
  up_view_.trunks = std::span(&upstream_, 1);
  up_view_.neighbours = kNeighbours;
  up_view_.numbers = kNumbers;
  up_view_.buffers = &buffers;
  up_ = std::make_unique<Operations>(up_view_, 0);
  up_->set_team(id);
}

int HostedStar::client(const Trunk& trunk) const {
  const auto found = clients_.find(&trunk);
  return found == clients_.end() ? -1 : found->second;
}

/// From here on no client comes.
void HostedStar::fix_view() {
  const int clients = static_cast<int>(trunks_.size());
  neighbours_.resize(trunks_.size());
  std::iota(neighbours_.begin(), neighbours_.end(), 0);
  numbers_ = neighbours_;
  numbers_.push_back(-1);
  view_.size = clients + 1;
  view_.position = clients;
  view_.trunks = trunks_;
  view_.neighbours = neighbours_;
  view_.numbers = numbers_;
  operations_ = std::make_unique<Operations>(view_, 0);
  operations_->set_team(id_);
}

// ---- the next operation

bool HostedStar::seat(std::uint32_t position, Trunk& trunk) {
  int& holder = holders_[position];
  const int known = client(trunk);
  if (holder >= 0) return holder == known;
  if (known >= 0 && tier_ != StarTier::upstream) return false;
  if (operations_ != nullptr && tier_ != StarTier::single) return false;
  if (tier_ == StarTier::single) {
    trunks_[position] = &trunk;
    holder = clients_[&trunk] = static_cast<int>(position);
    return true;
  }
  const auto [found, comes] = clients_.try_emplace(&trunk, static_cast<int>(trunks_.size()));
  if (comes) trunks_.push_back(&trunk);
  holder = found->second;
  return true;
}

bool HostedStar::describe(const StarDescription& description) {
  const std::uint32_t position = description.terms.position;
  if (described_[position]) return false;
  described_[position] = true;
  description_ = description;
  ++descriptions_;
  return true;
}

void HostedStar::keep(const StarDescription& description, std::span<const std::byte> contribution) {
  next_contributions_.resize(description.memory(members()));
  std::copy(contribution.begin(), contribution.end(),
            next_contributions_.begin() + static_cast<std::ptrdiff_t>(description.terms.position * contribution.size()));
}

/// The upstream aggregator keeps nothing of it early, so its window does not count.
void HostedStar::climb(OpNumber op, const StarDescription& description, std::span<const std::byte> words) {
  if (up_->next() == op) {
    up_->all_have_begun(op);
    up_->start(call_of(description, StarTier::climb), AlgorithmChoice::ring);
  }
  fold(op).describe(words);
}

bool HostedStar::ready() const {
  if (under_way_) return false;
  return upstream_ != nullptr ? up_->has_begun(begun_ + 1) && fold(begun_ + 1).answered() : descriptions_ == members();
}

std::uint64_t HostedStar::memory_to_begin() const { return description_.terms.whole ? 0 : description_.memory(trunks_.size()); }

std::uint64_t HostedStar::kept_from_then() const {
  return (upstream_ == nullptr ? 1 : folds_.size()) * description_.kept(trunks_.size());
}

// ---- operations

Call HostedStar::call_of(const StarDescription& description, StarTier tier) {
  Call call = nezha::call_of(description);
  call.star.tier = tier;
  call.star.holders = holders_;
  call.star.fold = &fold(tier == StarTier::climb ? up_->next() : begun_ + 1);
  call.reducer = {find_kernel(description.terms.type, description.terms.op), nullptr, nullptr, nullptr, call.element};
  return call;
}

/// All members have described the next one. That may be heard before the last one has ended here: their words that they have all
/// its sums can be behind.
void HostedStar::begin() {
  described_.assign(members(), false);
  descriptions_ = 0;
  if (operations_ == nullptr) fix_view();
  Call call = call_of(description_, tier_);
  begun_ += 1;
  under_way_ = true;
  contributions_.swap(next_contributions_);
  call.recv = tier_ == StarTier::rack ? call.star.fold->sum() : contributions_.data();
  bytes_ = description_.part.of(call.bytes());
  for (std::size_t client = 0; client < trunks_.size(); ++client)
    operations_->peer_at(client, begun_, begun_ - 1);  // who describes an operation has begun it
  operations_->start(call, AlgorithmChoice::ring);
}

/// The climb of the next one may be under way.
bool HostedStar::finished() { return operations_->finished() && (upstream_ == nullptr || up_->finished(begun_)); }

/// What a client sends twice, which it must not, may be half-way here.
void HostedStar::end() {
  for (Trunk* trunk : trunks_) trunk->discard(id_, begun_);
  if (upstream_ != nullptr) upstream_->discard(id_, begun_);
  under_way_ = false;
  contributions_ = {};
}

void HostedStar::give_up() {
  const Failure failure{Failure::Why::gone, 0, 0};
  if (operations_ != nullptr)
    operations_->fail(failure);
  else
    for (Trunk* trunk : trunks_) trunk->tell_failed(id_, 0, failure);
  for (Trunk* trunk : trunks_)
    if (trunk != nullptr) trunk->forget_team(id_);
  if (upstream_ == nullptr) return;
  up_->fail(failure);
  upstream_->forget_team(id_);
}

std::uint64_t HostedStar::bytes() const { return bytes_; }

// ---- what comes

/// Null: it is no client.
Operations* HostedStar::side(Trunk& trunk, int& number) const {
  if (&trunk == upstream_) return number = 0, up_.get();
  number = client(trunk);
  return number < 0 ? nullptr : operations_.get();
}

Placement HostedStar::place(Trunk& trunk, const PieceHeader& piece) const {
  int number = 0;
  const Operations* operations = side(trunk, number);
  return operations == nullptr ? Placement{PlaceKind::early} : operations->place(static_cast<std::size_t>(number), piece);
}

void HostedStar::arriving(Trunk& trunk, const PieceHeader& piece) {
  int number = 0;
  if (const Operations* operations = side(trunk, number))
    if (Operation* operation = operations->find(piece.op))
      operation->algorithm().arriving(&trunk == upstream_ ? kStarCenter : number, piece);
}

bool HostedStar::arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) {
  int number = 0;
  const Operations* operations = side(trunk, number);
  Operation* operation = operations == nullptr ? nullptr : operations->find(piece.op);
  return operation == nullptr || operation->algorithm().arrived(&trunk == upstream_ ? kStarCenter : number, piece, data);
}

void HostedStar::peer_at(Trunk& trunk, OpNumber begun, OpNumber ended) {
  int number = 0;
  if (Operations* operations = side(trunk, number)) operations->peer_at(static_cast<std::size_t>(number), begun, ended);
}

}  // namespace nezha
