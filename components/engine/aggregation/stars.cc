// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/stars.h"

#include <algorithm>
#include <utility>

#include "alg/star.h"
#include "util/params.h"

namespace nezha {
namespace {

/// While one is out, every so many of the calls that could use it begin with an agreement; ever fewer, down to one of kAgreeRarely,
/// while joins bring no sums.
constexpr std::size_t kAgreeEvery = 8, kAgreeRarely = 256;
/// While all are out, small calls agree at the first, the third, the seventh and so on, and every so many.
constexpr std::size_t kAgreeOnSmallEvery = 1024;
/// After so many calls through it, the loss of an aggregator says nothing about the next try.
constexpr std::size_t kCallsOfTrust = 1024;
constexpr std::size_t kChunk = 64 * 1024;
constexpr TeamId kThrough = 0xd1b54a32d192ed03;

std::size_t chunk_of(std::size_t wanted) {
  if (wanted == 0) return kChunk;
  return std::clamp<std::size_t>(wanted / kStarGrain * kStarGrain, kLeastChunk, kMostChunk);
}

constexpr std::uint64_t out_of_reach(Stars::Index aggregator) { return std::uint64_t{1} << aggregator; }
constexpr std::uint64_t not_named(Stars::Index aggregator) { return std::uint64_t{1} << (Stars::kMost + aggregator); }

static_assert(ShareSearches::kWhole == BlockPart::kWhole);

}  // namespace

Stars::Stars(TeamId team, int members, int position, AggregatorShare share, std::size_t chunk, BufferPool& buffers,
             std::size_t groups)
    : team_(team), member_{members, position, chunk_of(chunk), &buffers, groups}, pause_(kAgreeEvery), searches_(share) {}

std::size_t Stars::least(std::size_t chunk) { return kLeastChunks * chunk_of(chunk); }

bool Stars::in() const {
  return std::any_of(stars_.begin(), stars_.end(), [](const auto& star) { return star.has_value(); });
}

const Star* Stars::find(TeamId id) const {
  for (const std::optional<Star>& star : stars_)
    if (star && star->id() == id) return &*star;
  return nullptr;
}

Star* Stars::find(TeamId id) { return const_cast<Star*>(std::as_const(*this).find(id)); }

// ---- agreement

bool Stars::agreement_due() {
  const auto in = std::count_if(stars_.begin(), stars_.end(), [](const auto& star) { return star.has_value(); });
  if (static_cast<std::size_t>(in) >= named_) return false;
  if (left_ != 0) return --left_, false;
  left_ = pause_ - 1;
  return true;
}

bool Stars::small_agreement_due() {
  if (small_left_ != 0) return --small_left_, false;
  small_left_ = small_pause_ = std::min(2 * small_pause_ + 1, kAgreeOnSmallEvery - 1);
  return true;
}

Star* Stars::first() {
  const auto found = std::find_if(stars_.begin(), stars_.end(), [](const auto& star) { return star.has_value(); });
  return found == stars_.end() ? nullptr : &**found;
}

/// Bits: which ones this member does not have, or does not know. Then the ids of the services and their complements: members
/// that mean different ones show.
void Stars::vote(std::span<Peer* const> links) {
  words_.fill(0);
  for (Index i = 0; i < kMost; ++i) {
    if (i >= links.size()) words_[0] |= not_named(i);
    const Peer* peer = i < links.size() ? links[i] : nullptr;
    if (peer == nullptr || peer->trunk->lanes_up() == 0 || peer->trunk->missed()) {
      words_[0] |= out_of_reach(i);
      continue;
    }
    words_[kIds + 2 * i] = peer->address.service();
    words_[kIds + 2 * i + 1] = ~peer->address.service();
  }
}

bool Stars::common(Index aggregator) const {
  return !stars_[aggregator] && (words_[0] & out_of_reach(aggregator)) == 0 &&
         (words_[kIds + 2 * aggregator] & words_[kIds + 2 * aggregator + 1]) == 0;
}

void Stars::combined() {
  named_ = 0;
  while (named_ < kMost && (words_[0] & not_named(named_)) == 0) ++named_;
}

Star& Stars::join(Index aggregator, Trunk* trunk) {
  ++generation_;
  if (in()) changed();
  return stars_[aggregator].emplace(team_ ^ kThrough * (2 * generation_ + 1), trunk, member_);
}

void Stars::leave(Index aggregator) {
  if (!stars_[aggregator]) return;
  ++leaves_;
  const bool trusted = stars_[aggregator]->calls() >= kCallsOfTrust;
  if (trusted) small_pause_ = 0;
  pause_ = trusted || stars_[aggregator]->brought() ? kAgreeEvery : std::min(2 * pause_, kAgreeRarely);
  stars_[aggregator]->give_up(stars_[aggregator]->why());
  stars_[aggregator].reset();
  if (in()) changed();
  left_ = pause_ - 1;
  small_left_ = std::max<std::size_t>(small_pause_, 1);
}

/// What was learned of the others holds no more.
void Stars::changed() {
  searches_.retry();
  split_ = {};
}

// ---- shares

bool Stars::wanted(std::size_t bytes) {
  if (bytes < least(member_.chunk) || searches_.none()) return false;
  return !in() || !searches_.idle(bytes);
}

// ---- a call

void Stars::begin(const Call& call, Nanoseconds now, std::size_t ready) {
  began_ = now;
  from_ = BlockPart::kWhole - call.star.share.value_or(searches_.share(call.bytes()));
  std::array<bool, kMost> there{};
  for (Index i = 0; i < kMost; ++i) there[i] = stars_[i].has_value();
  const ShareSplit::Cuts cuts = split_.cuts(BlockPart::kWhole - from_, there);
  for (Index i = 0; i < kMost; ++i)
    if (stars_[i]) stars_[i]->begin(call, {from_ + cuts[i], from_ + cuts[i + 1]}, now, ready);
}

void Stars::supply(std::size_t ready) {
  each([ready](Star& star) { star.supply(ready); });
}

std::size_t Stars::final_up_to() const {
  std::size_t all = SIZE_MAX;
  for (const std::optional<Star>& star : stars_)
    if (star) all = std::min(all, star->final_up_to());
  return all;
}

bool Stars::under_way() const {
  return std::any_of(stars_.begin(), stars_.end(), [](const auto& star) { return star && star->under_way(); });
}

bool Stars::settled(Nanoseconds now, bool overtaken) {
  bool all = true;
  for (std::optional<Star>& star : stars_) all = (!star || star->settled(now, overtaken)) && all;
  return all;
}

std::span<std::uint64_t> Stars::confirmation(Nanoseconds now) {
  words_.fill(0);
  words_[0] = ~static_cast<std::uint64_t>(now - began_);
  for (Index i = 0; i < kMost; ++i) {
    if (!stars_[i]) continue;
    words_[kTimes + 2 * i] = stars_[i]->complete() ? 0 : 1;
    words_[kTimes + 2 * i + 1] = ~static_cast<std::uint64_t>(stars_[i]->took());
  }
  return words_;
}

std::size_t Stars::accept(const Call& call) {
  std::size_t accepted = 0;
  bool all = true;
  std::array<Nanoseconds, kMost> times{};
  for (Index i = 0; i < kMost; ++i) {
    if (!stars_[i]) continue;
    all = all && !lacking(i);
    if (lacking(i)) continue;
    stars_[i]->accept();
    accepted += stars_[i]->part().of(call.bytes());
    times[i] = static_cast<Nanoseconds>(~words_[kTimes + 2 * i + 1]);
  }
  if (!all) return accepted;
  if (!call.star.share) searches_.took(call.bytes(), static_cast<Nanoseconds>(~words_[0]));
  split_.took(times);
  return accepted;
}

}  // namespace nezha
