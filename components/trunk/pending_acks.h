// SPDX-License-Identifier: BSD-3-Clause
/// What a trunk has received and not acknowledged yet: by a record, or by a piece of ours that says as much, since its
/// team has ended the operations that the others were for.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trunk/piece.h"

namespace nezha {

class PendingAcks {
 public:
  void add(const PieceHeader& piece) {
    if (all_.pieces == 0) team_ = piece.team;
    if (piece.control || piece.team != team_) by_record_ = true;
    if (piece.op > op_) {
      op_ = piece.op;
      latest_ = {};
    }
    all_.count(piece);
    if (piece.op == op_) latest_.count(piece);
  }
  /// It counts as so many pieces, and only a record will do.
  void at_least(std::size_t pieces) {
    all_.pieces = std::max(all_.pieces, pieces);
    by_record_ = true;
  }
  /// A record is on its way. `named_all`: it had room for all that has arrived. Else what it left out will be
  /// acknowledged with the pieces that are missing below, for which only a record will do.
  void recorded(bool named_all) {
    *this = {};
    by_record_ = !named_all;
  }
  /// This piece is on its way to the peer. It acknowledges what came for the operations of its team that have ended, if it says
  /// anything of them: samples belong to no team, and say nothing.
  void sent(const PieceHeader& piece) {
    if (by_record_ || piece.team != team_ || piece.behind == 0) return;
    if (piece.ended() >= op_) *this = {};
    if (piece.ended() + 1 == op_) all_ = latest_;
  }

  std::size_t pieces() const { return all_.pieces; }
  std::size_t bytes() const { return all_.bytes; }

 private:
  struct Sum {
    std::size_t pieces = 0, bytes = 0;
    void count(const PieceHeader& piece) {
      ++pieces;
      bytes += piece.length;
    }
  };

  Sum all_, latest_;        ///< the latter for operation op_ only: a peer may be ahead
  TeamId team_ = 0;         ///< of all of it, unless by_record_
  OpNumber op_ = 0;         ///< the latest of it
  bool by_record_ = false;  ///< no piece of ours acknowledges it
};

}  // namespace nezha
