// SPDX-License-Identifier: BSD-3-Clause
/// Dissemination, a barrier: in round k each position tells the one 2^k further on that it, and all from whom it has
/// heard, are there; ceil(log2(N)) rounds for any number of positions (Hensgen, Finkel and Manber, 1988).
///
/// On the wire, step k is round k. A piece cannot be empty: each has one byte, which means nothing.
#include <bit>
#include <vector>

#include "alg/algorithm.h"

namespace nezha {
namespace {

constexpr std::byte kHere{1};

class Dissemination final : public Algorithm {
 public:
  explicit Dissemination(const TeamView& team)
      : Algorithm(team),
        rounds_(std::bit_width(static_cast<unsigned>(team.size) - 1)),
        heard_(static_cast<std::size_t>(rounds_)) {}

  void begin(const Call&) override {
    heard_.assign(heard_.size(), std::byte{});
    round_ = 0;
    tell();
  }

  std::size_t expected(int, const Call&) const override { return sizeof(kHere); }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step >= rounds_ || from != teller(piece.step)) return {PlaceKind::bad};
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
  bool complete() const override { return round_ == rounds_; }

 private:
  int teller(int round) const { return team().next(team().position, -(1 << round)); }

  void tell() {
    team().send(team().next(team().position, 1 << round_),
                {.data = &kHere, .size = sizeof(kHere), .step = static_cast<std::uint16_t>(round_), .hops = 1});
  }

  const int rounds_;
  std::vector<std::byte> heard_;  ///< by round
  int round_ = 0;                 ///< whose word is waited for
};

}  // namespace

std::unique_ptr<Algorithm> make_dissemination(const TeamView& team) { return std::make_unique<Dissemination>(team); }

}  // namespace nezha
