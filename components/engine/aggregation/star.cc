// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/star.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "alg/star_layout.h"
#include "util/params.h"

namespace nezha {
namespace {

/// While it is out, every so many of the calls that could use it begin with an agreement.
constexpr std::size_t kAgreeEvery = 8;
constexpr std::size_t kChunk = 64 * 1024;
constexpr std::uint32_t kWindow = 24;
/// Sums that others have are on their way here, unless they are lost.
constexpr Nanoseconds kOvertakenPatience = 200 * kMillisecond;
constexpr const char* kGone = "the service is gone";
constexpr TeamId kThrough = 0xd1b54a32d192ed03;

std::size_t chunk_of(std::size_t wanted) {
  if (wanted == 0) return kChunk;
  return std::clamp<std::size_t>(wanted / kStarGrain * kStarGrain, kLeastChunk, kMostChunk);
}

}  // namespace

Star::Star(TeamId team, int members, int position, AggregatorShare share, std::size_t chunk, BufferPool& buffers)
    : team_(team), members_(members), position_(position), share_(share), chunk_(chunk_of(chunk)), buffers_(buffers) {
  view_.size = 2;
  view_.position = 0;
  view_.trunks = std::span(&center_, 1);
  view_.neighbours = kNeighbours;
  view_.numbers = kNumbers;
  view_.buffers = &buffers;
}

bool Star::agreement_due() { return !in() && asked_++ % kAgreeEvery == 0; }

/// Bit i: this member does not have the i-th. Then the ids of the processes and their complements: who means another one shows.
void Star::vote(std::span<Peer* const> links) {
  words_.fill(0);
  for (std::size_t i = 0; i < AggregatorList::kMost; ++i) {
    const Peer* peer = i < links.size() ? links[i] : nullptr;
    if (peer == nullptr || peer->trunk->lanes_up() == 0) {
      words_[0] |= std::uint64_t{1} << i;
      continue;
    }
    words_[1 + 2 * i] = peer->address.id;
    words_[2 + 2 * i] = ~peer->address.id;
  }
}

int Star::common() const {
  for (std::size_t i = 0; i < AggregatorList::kMost; ++i)
    if ((words_[0] >> i & 1) == 0 && (words_[1 + 2 * i] & words_[2 + 2 * i]) == 0) return static_cast<int>(i);
  return -1;
}

void Star::join(Trunk* trunk) {
  ++generation_;
  id_ = team_ ^ kThrough * (2 * generation_ + 1);
  center_ = trunk;
  operations_.emplace(view_, 0);
  operations_->set_team(id_);
  dead_ = trunk == nullptr;
  why_ = dead_ ? kGone : "";
}

void Star::lost() {
  give_up(kGone);
  center_ = nullptr;
}

void Star::leave() {
  if (!in()) return;
  give_up(why_);
  operations_.reset();
  asked_ = 1;  // not at the next call
}

bool Star::wanted(std::size_t bytes) {
  if (bytes < kLeastBytes || share_.per_cent == 0) return false;
  return share_.per_cent != AggregatorShare::kAuto || !in() || !searches_.idle(bytes);
}

std::uint32_t Star::share(std::size_t bytes) const {
  if (share_.per_cent == AggregatorShare::kAuto) return searches_.share(bytes);
  return static_cast<std::uint32_t>(share_.per_cent) * BlockPart::kWhole / 100;
}

BlockPart Star::part(std::size_t bytes) const { return {BlockPart::kWhole - share(bytes), BlockPart::kWhole}; }

void Star::begin(const Call& call, const BlockPart& part, nezha_type_t type, nezha_op_t op) {
  part_ = part;
  moved_ = false;
  moved_at_ = 0;
  complete_ = part.from == part.to;
  if (dead_ || complete_ || element_size(type) != call.element) return;
  Call through = call;
  through.part = part;
  through.chunk = chunk_;
  through.star = {static_cast<std::uint32_t>(members_), static_cast<std::uint32_t>(position_), kWindow, type, op, nullptr};
  if (call.send == call.recv) {
    StarLayout layout;
    layout.cut(through);
    if (layout.bytes() != 0) packed_ = buffers_.take(layout.bytes());
    through.star.packed = packed_.data();
  }
  number_ = operations_->start(through, AlgorithmChoice::ring);
  under_way_ = true;
}

bool Star::settled(Nanoseconds now, bool overtaken) {
  if (!under_way_) return true;
  if (operations_->finished(number_)) {
    under_way_ = false;
    complete_ = true;
    return true;
  }
  if (center_->lanes_up() == 0) return give_up("no lane to it is left"), true;
  if (!overtaken) return false;
  if (moved_at_ == 0 || std::exchange(moved_, false)) moved_at_ = now;
  if (now - moved_at_ < kOvertakenPatience) return false;
  give_up("other ranks do not wait for it any more");
  return true;
}

void Star::give_up(const std::string& why) {
  if (!in() || dead_) return;
  dead_ = true;
  under_way_ = false;
  why_ = why;
  operations_->fail({Failure::Why::gone, static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(position_)});
  packed_.give_back();  // no lane refers to it any more
  center_->forget_team(id_);
}

std::span<std::uint64_t> Star::confirmation(Nanoseconds took) {
  confirmation_ = {complete_ ? 0U : 1U, ~static_cast<std::uint64_t>(took)};
  return confirmation_;
}

void Star::accept(const Call& call, std::size_t bytes) {
  if (call.send == call.recv && part_.from != part_.to) {
    const Layout layout(call.count, call.element, members_, chunk_, part_);
    const std::byte* from = packed_.data();
    for (int block = 0; block < members_; ++block) {
      if (layout.size(block) == 0) continue;
      std::memcpy(call.recv + layout.begin(block), from, layout.size(block));
      from += layout.size(block);
    }
  }
  packed_.give_back();
  searches_.took(bytes, static_cast<Nanoseconds>(~confirmation_[1]));
}

}  // namespace nezha
