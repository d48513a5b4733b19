// SPDX-License-Identifier: BSD-3-Clause
/// A star at an aggregator: which clients have its contributions, and the operation under way. Clients are members; at the upstream
/// aggregator of a tree they are aggregators of racks, each of which has the contributions of its members.
///
/// A rack's star has two operations under way for each one of its members: the climb, which begins with the first description and
/// passes all of them on, and the rack's own, which begins when the climb is answered (alg/star_fold.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "alg/star.h"
#include "alg/star_fold.h"
#include "engine/operations.h"

namespace nezha {

class HostedStar {
 public:
  /// `upstream`: of a rack's; else null.
  HostedStar(TeamId id, std::size_t members, StarTier tier, Trunk* upstream, BufferPool& buffers);
  HostedStar(const HostedStar&) = delete;
  HostedStar& operator=(const HostedStar&) = delete;

  /// What it takes beside its operations and what is left of these, about.
  static std::uint64_t memory_of(std::size_t members) { return 16 * 1024 + 256 * std::uint64_t{members}; }

  TeamId id() const { return id_; }
  StarTier tier() const { return tier_; }
  std::size_t members() const { return holders_.size(); }
  /// Number of the client; -1: it is none.
  int client(const Trunk& trunk) const;
  template <typename Each>
  void each_client(const Each& each) const {
    for (const auto& [trunk, number] : clients_) each(*trunk);
  }
  Trunk* upstream() const { return upstream_; }

  // ---- the next operation
  /// That client has the contribution of that position. False: another one has, or it cannot have it.
  bool seat(std::uint32_t position, Trunk& trunk);
  /// A position has described it, alike those that came first. False: it had before.
  bool describe(const StarDescription& description);
  std::size_t descriptions() const { return descriptions_; }
  const StarDescription& description() const { return description_; }
  /// The contribution to a small vector, of which this position is the first or agrees with the first.
  void keep(const StarDescription& description, std::span<const std::byte> contribution);
  /// A rack's: on to the upstream aggregator.
  void climb(OpNumber op, const StarDescription& description, std::span<const std::byte> words);
  /// All have described it, and the one before has ended.
  bool ready() const;
  /// Memory for what ready() says, beside what the descriptions took.
  std::uint64_t memory_to_begin() const;
  /// What it has after that, too, as long as it lives.
  std::uint64_t kept_from_then() const;

  // ---- operations
  OpNumber begun() const { return begun_; }
  bool under_way() const { return under_way_; }
  /// Something was passed on that is not over.
  bool climbs() const { return upstream_ != nullptr && up_->active(); }
  /// Something is under way, or described.
  bool busy() const { return under_way_ || descriptions_ != 0 || climbs(); }
  void begin();
  /// Goes on towards the end.
  bool finished();
  void end();
  /// Without a result; all clients, and the upstream aggregator, are told.
  void give_up();
  /// Bytes of the vector that is under way.
  std::uint64_t bytes() const;

  // ---- what comes
  Placement place(Trunk& trunk, const PieceHeader& piece) const;
  void arriving(Trunk& trunk, const PieceHeader& piece);
  /// False: it cannot be.
  bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data);
  bool has_begun(OpNumber op) const { return operations_ != nullptr && operations_->has_begun(op); }
  void peer_at(Trunk& trunk, OpNumber begun, OpNumber ended);

  // ---- the service's book-keeping
  std::uint64_t memory = 0;       ///< of the operation under way
  std::uint64_t next_memory = 0;  ///< of the next one, so far
  std::uint64_t kept = 0;         ///< between operations
  bool attended = false;          ///< it has something to do (marked_set.h)

 private:
  static constexpr std::array<int, 1> kNeighbours = {1};
  static constexpr std::array<int, 2> kNumbers = {-1, 0};

  void fix_view();
  Call call_of(const StarDescription& description, StarTier tier);
  StarFold& fold(OpNumber op) { return folds_[op % folds_.size()]; }
  const StarFold& fold(OpNumber op) const { return folds_[op % folds_.size()]; }
  Operations* side(Trunk& trunk, int& number) const;

  const TeamId id_;
  const StarTier tier_;
  std::vector<Trunk*> trunks_;  ///< by client; null: it has not joined
  std::unordered_map<const Trunk*, int> clients_;  ///< their numbers: each piece asks for one
  std::vector<int> holders_;    ///< client by position; -1: none yet, or another rack's
  std::vector<int> neighbours_, numbers_;  ///< clients are numbered as they are, and this process comes behind them
  TeamView view_;
  std::unique_ptr<Operations> operations_;  ///< null: not all clients have come

  Trunk* const upstream_;
  TeamView up_view_;
  std::unique_ptr<Operations> up_;
  std::array<StarFold, 2> folds_;  ///< of the operation under way, and of the next one

  StarDescription description_;
  std::vector<bool> described_;  ///< by position: the next operation
  std::size_t descriptions_ = 0;
  OpNumber begun_ = 0;
  bool under_way_ = false;
  std::vector<std::byte> contributions_;       ///< to the small vector under way, by position
  std::vector<std::byte> next_contributions_;  ///< to the next one
  std::uint64_t bytes_ = 0;
};

}  // namespace nezha
