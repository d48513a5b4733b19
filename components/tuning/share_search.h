// SPDX-License-Identifier: BSD-3-Clause
/// Finds, for each size of vectors, how much of one is to go through an aggregator. It climbs: a share is timed by a burst of
/// calls, of which the first does not count and the median of the others does (the shortest would flatter links that let a
/// little more through after a pause); then shares a step away, on both sides; where both are slower the step is
/// halved. Once the smallest step brings nothing the share is settled, and looked at again after kRetry calls. What is not clearly
/// faster than nothing at all is nothing, since it costs the aggregator and gains nobody.
///
/// It begins with a small share, whose first steps grow until one is clearly slower, as small ones may show nothing: an
/// aggregator with slow links costs little until that is known. A burst that begins far behind is given up. Sizes beside one
/// that is settled begin with its share.
///
/// Alike on all members, because it hears only times that they have agreed on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "util/aggregator_list.h"
#include "util/clock.h"

namespace nezha {

class ShareSearch {
 public:
  /// A vector has so many. Where the aggregator has a network of its own, a sixteenth too much for it lengthens a call by a sixth.
  static constexpr std::uint32_t kSteps = 64;
  static constexpr std::size_t kRetry = 512;

  /// Before the first call: what was found for vectors of about this size.
  void begin_with(const ShareSearch& settled);
  /// No call was timed yet.
  bool fresh() const { return best_time_ == 0 && calls_ == 0 && !settled_; }
  /// In steps: what the next call is to use.
  std::uint32_t next() const { return settled_ ? best_ : tried_; }
  void took(Nanoseconds time);
  /// Nothing is to go through it for the time being: the call needs no aggregator. Counts such calls.
  bool idle();
  bool settled() const { return settled_; }
  /// What was found may not hold any more: tries the shares around the best one again.
  void retry();

 private:
  static constexpr unsigned kBurst = 4;

  Nanoseconds median() const;
  void judge(Nanoseconds time);
  void turn();
  void go_on();

  static constexpr std::uint32_t kFirst = kSteps / 8;

  std::uint32_t best_ = kFirst, tried_ = kFirst;
  Nanoseconds best_time_ = 0;  ///< 0: not timed yet
  std::uint32_t step_ = kFirst;
  bool growing_ = true;   ///< the steps
  bool unclear_ = false;  ///< the latest ones that grew have shown nothing
  bool none_judged_ = false;  ///< nothing at all was tried, or more was faster
  bool up_ = true;       ///< the next one to try lies above the best
  bool other_side_ = false;  ///< that on the other side of it is known to be slower
  unsigned calls_ = 0;    ///< of the burst
  std::array<Nanoseconds, kBurst - 1> times_{};  ///< of the burst
  std::size_t quiet_ = 0;  ///< calls since it was settled
  bool settled_ = false;
};

/// One for each power of two, unless the parameter says how much it is to be.
class ShareSearches {
 public:
  static constexpr std::uint32_t kWhole = 65536;

  explicit ShareSearches(AggregatorShare wanted = {}) : wanted_(wanted) {}

  /// Of kWhole.
  std::uint32_t share(std::size_t bytes) const;
  void took(std::size_t bytes, Nanoseconds time) { of(bytes).took(time); }
  /// The parameter says that nothing is to go through it.
  bool none() const { return wanted_.per_cent == 0; }
  /// It says that all is to.
  bool all() const { return wanted_.per_cent == 100; }
  /// The parameter says how much.
  bool fixed() const { return !searches(); }
  /// Times of such calls are wanted.
  bool searching(std::size_t bytes) const { return searches() && !begun(bytes).settled(); }
  /// See ShareSearch.
  bool idle(std::size_t bytes) { return searches() && of(bytes).idle(); }
  void retry() {
    for (ShareSearch& search : classes_) search.retry();
  }

 private:
  static constexpr std::size_t kClasses = 64;
  bool searches() const { return wanted_.per_cent == AggregatorShare::kAuto; }
  static std::size_t index(std::size_t bytes);
  /// With the share of a size beside it, if it has none of its own.
  ShareSearch begun(std::size_t bytes) const;
  ShareSearch& of(std::size_t bytes) { return classes_[index(bytes)] = begun(bytes); }

  const AggregatorShare wanted_;
  std::array<ShareSearch, kClasses> classes_;
};

}  // namespace nezha
