// SPDX-License-Identifier: BSD-3-Clause
/// What a trunk knows of one of its lanes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rail/rail.h"
#include "trunk/lane_rate.h"
#include "trunk/punctuality.h"
#include "trunk/rail_load.h"
#include "trunk/silence.h"
#include "trunk/wire.h"
#include "util/rail_set.h"

namespace nezha {

/// Where the payload of one piece of the frame being received goes.
enum class PlaceKind : std::uint8_t {
  direct,   ///< into the operation's memory; the operation hears of it when complete
  scratch,  ///< into the lane's scratch, to be reduced from there
  early,    ///< into the early store
  bin,      ///< nowhere: a duplicate, or nobody needs it
  bad,      ///< it cannot be: the lane is closed
};

struct Placement {
  PlaceKind kind = PlaceKind::bin;
  std::byte* where = nullptr;
  bool overwrites =
      false;  ///< direct: what was sent from there has served its purpose; PieceReceiver::arriving comes first
};

struct LaneState {
  Lane* lane = nullptr;      ///< null while down
  RailLoad* rail = nullptr;  ///< of the local rail
  std::uint8_t local_rail = 0, remote_rail = 0;

  Silence silence;
  bool was_up = false;   ///< at some time
  std::uint64_t untold = 0;  ///< the connection that was lost when no other lane could tell the peer; 0: none
  bool suspect = false;  ///< up, but its far end does not answer while another lane's does

  /// New bytes may go over it.
  bool usable() const { return lane != nullptr && !suspect; }
  /// And such as keep to these rails.
  bool usable(RailSet rails) const { return usable() && (rails == 0 || has(rails, local_rail)); }

  // Sending.
  std::size_t fill = 0;       ///< last known, plus what was handed over since
  Nanoseconds handed_at = 0;  ///< when that was
  std::uint32_t frames = 0;   ///< handed over; only the last one can be partly sent
  std::uint64_t given = 0;    ///< bytes handed over since shares began to count
  LaneRate rate;
  Punctuality punctuality;

  // Receiving: the frame that is under way.
  bool receiving = false;
  bool spoke = false;  ///< a frame has come since the last look at silence
  FrameRecords records;
  std::array<Placement, kMaxFrameSegments> places;
  std::array<std::uint8_t, kMaxFrameSegments> segment;  ///< of the scatter list, for each piece with payload
  std::vector<std::byte> scratch;

  /// Asks the lane how much of what it was given has left, and returns how much more that is than before. For
  /// RailLoad::refresh: may take the lane off the rail's list of loaded lanes.
  std::size_t refresh(Nanoseconds now);
  /// A frame of `bytes` is being handed over.
  void handed(Nanoseconds now, std::size_t bytes);
  /// What it holds counts as gone from here on.
  void forget_fill(Nanoseconds now);
  /// Ends a suspicion, if there is one.
  void trust();
  /// The lane died: what it held counts as gone.
  void reset(Nanoseconds now);

 private:
  void judge(Nanoseconds now);
};

}  // namespace nezha
