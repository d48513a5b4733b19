// SPDX-License-Identifier: BSD-3-Clause
/// What a team sends through aggregators: a part of each block of a large vector, of which each aggregator has a part, beside an
/// operation over the rails for the rest. Guarded by the engine's lock.
///
///   out --- all members have a lane to the same aggregator: join() ---> in
///   in  --- a member lacks sums at the end of a call: leave() -------> out
///
/// Both steps follow, for each aggregator, from words that the members have combined, so that all take them at the same call.
/// In between, a member that has lost an aggregator (Star::give_up()) contributes nothing to it and says at the end of the call
/// that it lacks sums. Then all carry that aggregator's part over the rails.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/aggregation/star.h"
#include "tuning/share_search.h"
#include "tuning/share_split.h"
#include "util/aggregator_list.h"

namespace nezha {

class Stars {
 public:
  /// An aggregator by its place in the parameter, the same on all members.
  using Index = std::size_t;
  static constexpr Index kMost = AggregatorList::kMost;
  /// Vectors of so many chunks are worth it.
  static constexpr std::size_t kLeastChunks = 8;
  /// Bytes of these. `chunk`: as the constructor has it.
  static std::size_t least(std::size_t chunk);

  /// Alike on all members but for `position`. `chunk`: bytes that are reduced at once; 0: chosen.
  Stars(TeamId team, int members, int position, AggregatorShare share, std::size_t chunk, BufferPool& buffers,
        std::size_t groups = 1);

  /// Calls that an algorithm carries so: sums of kernels, by blocks of which it can leave out a part.
  static bool suits(AlgorithmChoice choice, nezha_op_t op) {
    return (choice == AlgorithmChoice::ring || choice == AlgorithmChoice::mesh) && op != NEZHA_OP_OTHER;
  }
  /// A vector of that size is to go through aggregators, as far as the team knows. Counts, alike on all.
  bool wanted(std::size_t bytes);

  // ---- agreement
  /// Before a call that could use them. Counts such calls. Ever more rarely, while joins bring no sums.
  bool agreement_due();
  /// The same before a small one that could go whole through one, while none is in. Ever more rarely, until many calls have gone
  /// through one.
  bool small_agreement_due();
  /// `links`: this process's aggregators in the order of the parameter, null where there is no lane. One that was given up for its
  /// silence counts as out of reach until it is heard.
  void vote(std::span<Peer* const> links);
  std::span<std::uint64_t> words() { return words_; }
  /// The words are combined.
  void combined();
  /// By the combined words: all members have that one, which is out.
  bool common(Index aggregator) const;
  /// The service that they all mean (Address::service()).
  std::uint64_t service(Index aggregator) const { return words_[kIds + 2 * aggregator]; }
  /// `trunk`: see Star. Returns the star, which stays until leave().
  Star& join(Index aggregator, Trunk* trunk);
  /// Nothing goes through it from here on; the aggregator is told.
  void leave(Index aggregator);
  /// One of them at least is in.
  bool in() const;
  /// What small calls go through: alike on all members; null: none is in.
  Star* first();
  /// How often aggregators were joined and left.
  std::uint64_t changes() const { return generation_ + leaves_; }
  /// The parameter says that all that can go through them does.
  bool take_all() const { return searches_.all(); }
  /// Null: it is out.
  Star* star(Index aggregator) { return stars_[aggregator] ? &*stars_[aggregator] : nullptr; }
  /// Null: none of them has that id.
  Star* find(TeamId id);
  const Star* find(TeamId id) const;
  template <typename Each>
  void each(const Each& each) {
    for (std::optional<Star>& star : stars_)
      if (star) each(*star);
  }

  // ---- a call
  /// Each takes its part, of `call.star.share` or else of what was found out here. `ready`: see Star.
  void begin(const Call& call, Nanoseconds now, std::size_t ready = SIZE_MAX);
  /// See Star.
  void supply(std::size_t ready);
  /// Of all: see Star.
  std::size_t final_up_to() const;
  /// What the rails carry of it meanwhile.
  BlockPart rest() const { return {0, from_}; }
  bool under_way() const;
  /// All go on; true when no more sums will come. `overtaken`: see Star.
  bool settled(Nanoseconds now, bool overtaken);
  /// What members combine at the end of a call, by maximum: for each aggregator whether one lacks its sums. Times are combined as
  /// complements, since the shortest one is that of the last member to come.
  std::span<std::uint64_t> confirmation(Nanoseconds now);
  /// By the combined words: a member lacks sums of that one, which is in.
  bool lacking(Index aggregator) const { return stars_[aggregator] && words_[kTimes + 2 * aggregator] != 0; }
  /// Of the sums that nobody lacks. Returns how many bytes of the vector they are. Before any leave().
  std::size_t accept(const Call& call);

 private:
  static constexpr std::size_t kIds = 1, kTimes = 1;

  void changed();

  const TeamId team_;
  const Star::Member member_;
  std::array<std::optional<Star>, kMost> stars_;
  std::array<std::uint64_t, 1 + 2 * kMost> words_{};
  std::size_t named_ = kMost;  ///< aggregators that all members have in their parameter, as far as is known
  std::size_t pause_;          ///< from one agreement to the next: calls that could have used one that was out
  std::size_t left_ = 0;       ///< of these, still to come
  std::size_t small_pause_ = 0;  ///< small calls between the latest agreement while all were out and the next one
  std::size_t small_left_ = 0;   ///< of these, still to come
  std::uint64_t generation_ = 0, leaves_ = 0;
  std::uint32_t from_ = BlockPart::kWhole;  ///< of each block goes through aggregators, in the call under way
  Nanoseconds began_ = 0;                   ///< that call
  ShareSearches searches_;
  ShareSplit split_;
};

}  // namespace nezha
