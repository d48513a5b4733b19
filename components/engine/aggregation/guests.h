// SPDX-License-Identifier: BSD-3-Clause
/// Who gets what comes for ids that are no team's of this process: a service for the teams of others. Called as OperationNews
/// and PieceReceiver are.
#pragma once

#include "trunk/trunk.h"

namespace nezha {

class Guests {
 public:
  virtual Placement place(Trunk& trunk, const PieceHeader& piece) = 0;
  virtual void arriving(Trunk& trunk, const PieceHeader& piece) = 0;
  virtual bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) = 0;
  virtual bool has_begun(TeamId id, OpNumber op) = 0;
  virtual void peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) = 0;
  virtual void failed(TeamId id) = 0;
  /// That trunk of an outsider ends now.
  virtual void going(const Trunk& trunk) = 0;

 protected:
  ~Guests() = default;
};

}  // namespace nezha
