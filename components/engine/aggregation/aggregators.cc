// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregators.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/aggregation/aggregator_key.h"
#include "engine/aggregation/greeting.h"
#include "engine/aggregation/lookup.h"
#include "engine/core.h"

namespace nezha {
namespace {

constexpr Nanoseconds kLookEvery = 5 * kMillisecond;  ///< at a greeting
constexpr Nanoseconds kWatchEvery = 200 * kMillisecond;
constexpr Nanoseconds kGreetingTime = 3 * kSecond;
constexpr Nanoseconds kFirstRetry = 100 * kMillisecond, kLongestRetry = 2 * kSecond;
/// A service that was started anew knows no lane of ours, one that was only cut off does: its lanes come back by themselves
/// within that, or never.
constexpr Nanoseconds kLostFor = kSecond;
/// After the greeting the first lane may take as long.
constexpr Nanoseconds kWiringTime = 5 * kSecond;

}  // namespace

class Aggregators::Link {
 public:
  Link(Core& core, const AggregatorList::Entry& entry) : core_(core), entry_(entry), label_(entry.text()) {}

  Peer* peer() const { return peer_; }
  Nanoseconds due() const { return due_; }
  const std::string& trouble() const { return said_; }

  void step(Nanoseconds now, const Secret& key) {
    if (now < due_) return;
    due_ = now + kLookEvery;
    switch (state_) {
      case State::idle:
        lookup_.begin(entry_);
        place_ = 0;
        state_ = State::looking_up;
        return;
      case State::looking_up:
        return connect(now, key);
      case State::greeting:
        return greet(now);
      case State::linked:
        return watch(now);
    }
  }

 private:
  enum class State { idle, looking_up, greeting, linked };

  void connect(Nanoseconds now, const Secret& key) {
    if (!lookup_.over()) return;
    if (!lookup_.status().ok()) return retry(now, lookup_.status().text());
    Fd fd;
    if (const Status begun = begin_connection(lookup_.places()[place_], fd); !begun.ok()) return go_on(now, begun.text());
    greeting_.emplace(Greeting::Side::rank, std::move(fd), key, core_.self(), now + kGreetingTime);
    state_ = State::greeting;
  }

  void greet(Nanoseconds now) {
    const Greeting::State state = greeting_->step(now);
    if (state == Greeting::State::pending) return;
    if (state == Greeting::State::failed && !greeting_->connected()) return go_on(now, greeting_->why().text());
    if (state == Greeting::State::failed) return retry(now, greeting_->why().text());
    peer_ = core_.add_outsider(greeting_->peer(), greeting_->secret());
    greeting_.reset();
    if (peer_ == nullptr) return retry(now, "another name of it is in use");
    core_.log().line(2, "aggregator %s: %s has answered", label_.c_str(), peer_->label().c_str());
    state_ = State::linked;
    lost_at_ = now + kWiringTime;
    retries_ = 0;
    said_.clear();
  }

  /// By its next address: nothing listens at this one.
  void go_on(Nanoseconds now, const std::string& why) {
    if (++place_ == lookup_.places().size()) return retry(now, why);
    greeting_.reset();
    state_ = State::looking_up;
  }

  void watch(Nanoseconds now) {
    due_ = now + kWatchEvery;
    if (peer_->trunk->lanes_up() != 0) lost_at_ = now + kLostFor;
    if (now < lost_at_) return;
    core_.log().line(2, "aggregator %s: no lane to it for a while, it is greeted anew", label_.c_str());
    core_.remove_outsider(*std::exchange(peer_, nullptr));
    state_ = State::idle;
  }

  /// Told once, until it is another reason or it has worked.
  void retry(Nanoseconds now, std::string why) {
    greeting_.reset();
    state_ = State::idle;
    due_ = now + std::min(kFirstRetry << std::min(retries_++, 8U), kLongestRetry);
    if (why != said_) core_.log().line(1, "aggregator %s is not used: %s", label_.c_str(), why.c_str());
    said_ = std::move(why);
  }

  Core& core_;
  const AggregatorList::Entry entry_;
  const std::string label_;
  Lookup lookup_;
  std::size_t place_ = 0;  ///< which of its addresses is tried
  State state_ = State::idle;
  std::optional<Greeting> greeting_;
  Peer* peer_ = nullptr;
  Nanoseconds due_ = 0;
  Nanoseconds lost_at_ = 0;  ///< when it counts as lost, unless a lane comes up
  unsigned retries_ = 0;
  std::string said_;
};

Aggregators::Aggregators(Core& core) : core_(core) {}

Aggregators::~Aggregators() = default;

void Aggregators::begin() {
  if (begun_) return;
  begun_ = true;
  Secret key{};
  if (const Status status = read_aggregator_key(core_.config().aggregator_key, key); !status.ok())
    return core_.notify({"no aggregator key", {core_.self().node, status.text()}});
  begin(key);
}

void Aggregators::begin(const Secret& key) {
  begun_ = true;
  key_ = key;
  if (!links_.empty()) return;
  for (const AggregatorList::Entry& entry : core_.config().aggregators.entries)
    links_.push_back(std::make_unique<Link>(core_, entry));
}

void Aggregators::step(Nanoseconds now) {
  for (const auto& link : links_) link->step(now, key_);
}

Nanoseconds Aggregators::next_due() const {
  Nanoseconds due = 0;
  for (const auto& link : links_) due = sooner(due, std::max<Nanoseconds>(link->due(), 1));
  return due;
}

std::string Aggregators::trouble(std::size_t place) const { return place < links_.size() ? links_[place]->trouble() : ""; }

std::vector<Peer*> Aggregators::linked() const {
  std::vector<Peer*> peers;
  for (const auto& link : links_) peers.push_back(link->peer());
  return peers;
}

}  // namespace nezha
