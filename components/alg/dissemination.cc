// SPDX-License-Identifier: BSD-3-Clause
/// Dissemination, a barrier: in each round a position tells the one that is a distance further on that it, and all from
/// whom it has heard, are there; ceil(log2(N)) rounds for any number of positions (Hensgen, Finkel and Manber, 1988).
/// Distances are those of halving, from 1 on, in place of powers of two, so that it needs no lanes of its own: each is at
/// most the number of positions that a position has heard of by then.
///
/// On the wire, step k is round k. A piece cannot be empty: each has one byte, which means nothing.
#include <vector>

#include "alg/algorithm.h"
#include "alg/neighbours.h"

namespace nezha {
namespace {

constexpr std::byte kHere{1};

class Dissemination final : public Algorithm {
 public:
  explicit Dissemination(const TeamView& team)
      : Algorithm(team), distances_(halved_distances(team.size)), heard_(distances_.size()) {}

  void begin(const Call&) override {
    heard_.assign(heard_.size(), std::byte{});
    round_ = 0;
    tell();
  }

  std::size_t expected(int, const Call&) const override { return sizeof(kHere); }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step >= rounds() || from != teller(piece.step)) return {PlaceKind::bad};
    if (piece.offset != 0 || piece.length != sizeof(kHere)) return {PlaceKind::bad};
    return {PlaceKind::scratch};
  }

  bool arrived(int, const PieceHeader& piece, const std::byte*) override {
    std::byte& heard = heard_[piece.step];
    if (heard == kHere) return false;
    heard = kHere;
    while (!complete() && heard_[static_cast<std::size_t>(round_)] == kHere) {
      ++round_;
      if (!complete()) tell();
    }
    return true;
  }

  bool awaits(int from) const override { return !complete() && from == teller(round_); }
  bool complete() const override { return round_ == rounds(); }

 private:
  int rounds() const { return static_cast<int>(distances_.size()); }
  int distance(int round) const { return distances_[static_cast<std::size_t>(rounds() - 1 - round)]; }
  int teller(int round) const { return team().next(team().position, -distance(round)); }

  void tell() {
    team().send(team().next(team().position, distance(round_)),
                {.data = &kHere, .size = sizeof(kHere), .step = static_cast<std::uint16_t>(round_), .hops = 1});
  }

  const std::vector<int> distances_;  ///< the last round's first
  std::vector<std::byte> heard_;  ///< by round
  int round_ = 0;                 ///< whose word is waited for
};

}  // namespace

std::unique_ptr<Algorithm> make_dissemination(const TeamView& team) { return std::make_unique<Dissemination>(team); }

}  // namespace nezha
