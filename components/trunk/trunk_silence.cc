// SPDX-License-Identifier: BSD-3-Clause
/// Lanes whose far end is silent: suspected first, which moves their pieces while they stay open; then forgiven or
/// closed.
#include <algorithm>
#include <string>
#include <utility>

#include "trunk/lane_limits.h"
#include "trunk/trunk.h"

namespace nezha {
namespace {

/// A process that asks less often was stopped itself, or had nothing to ask: it counts anew.
constexpr Nanoseconds kForgotten = kSecond;
/// Between two questions no more than this counts: where the machine stood still, the answer may be there unread.
constexpr Nanoseconds kMostBetween = 200 * kMillisecond;
/// A question for a sign of life may have come to the other kernel and no further, before that end of the lane was
/// closed unheard. It is put again, each time after twice as long: only what is under way finds out that the lane is
/// dead.
constexpr Nanoseconds kAskAgain = kSecond;
constexpr Nanoseconds kAskRarely = 100 * kMillisecond;  ///< between two questions that were answered, whoever asks

}  // namespace

void Trunk::listen(Nanoseconds now) {
  bool anyone_speaks = false;
  for (LaneState& state : lanes_) {
    if (state.lane == nullptr) continue;
    const bool waits = state.fill != 0 || state.suspect;
    state.silence.look(waits ? state.lane->pulse() : LanePulse{}, state.lane->answers(), queue_time(state), heard_beside(state), now);
    if (!state.silence.suspicious() && !state.suspect) anyone_speaks = true;
  }
  seek_proof(now);
  for (LaneState& state : lanes_) {
    if (state.lane == nullptr) continue;
    if (state.suspect && state.silence.lasted() == 0) {
      forgive(state, now);
    } else if (state.silence.hopeless(anyone_speaks)) {
      close_lane(state, {Code::timed_out, "no answer from the other side for " +
                                              std::to_string(state.silence.lasted() / kMillisecond) + " ms"});
    } else if (anyone_speaks && !state.suspect && state.silence.suspicious()) {
      suspect(state, now);
    }
  }
}

/// The peer has sent something by another lane since the last look.
bool Trunk::heard_beside(const LaneState& state) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const LaneState& other) { return &other != &state && other.spoke; });
}

/// A lane whose far end is a process is silent: the peer is asked for a sign of life by a lane that is not, unless it has just
/// given one or is being asked.
void Trunk::seek_proof(Nanoseconds now) {
  const LaneState* silent = nullptr;
  LaneState* other = nullptr;
  bool spoke = false;
  for (LaneState& state : lanes_) {
    spoke = spoke || std::exchange(state.spoke, false);
    if (state.lane != nullptr && state.silence.needs_proof()) silent = &state;
    else if (state.usable() && state.silence.lasted() == 0 && !state.lane->busy()) other = &state;
  }
  if (spoke) proof_sought_ = 0;
  if (silent == nullptr || other == nullptr || spoke || !log_.room()) return;
  if (proof_sought_ != 0 && now - proof_sought_ < std::max(kAskRarely, silent->silence.lasted())) return;
  proof_sought_ = now;
  send_alone(*other, send_control(Control::alive, 0, 0));
}

bool Trunk::wants_lane(std::uint8_t local_rail, std::uint8_t remote_rail) const {
  const std::size_t index = index_between(local_rail, remote_rail);
  if (index == lanes_.size()) return false;
  const LaneState& state = lanes_[index];
  return state.lane == nullptr || (state.silence.suspicious() && state.silence.goes_on(state.lane->pulse()));
}

/// A lane in the middle of a frame may get the rest out much later, when the piece has long arrived by another way.
void Trunk::suspect(LaneState& state, Nanoseconds now) {
  state.suspect = true;
  state.rail->suspicions += 1;
  state.rail->suspects += 1;
  state.lane->own_rest();
  state.forget_fill(now);
  owner_.lanes.lane_suspected(*this, *state.lane, state.silence.lasted());
  take_back(state);
  pump();
}

void Trunk::forgive(LaneState& state, Nanoseconds now) {
  state.trust();
  count_shares_anew();
  state.silence.forgive(now);
  owner_.lanes.lane_forgiven(*this, *state.lane);
  pump();
}

void Trunk::close_lane(LaneState& state, const Status& why) {
  Lane& lane = *state.lane;
  lane.close();
  lane_down(lane, why);
}

/// The end of the connection may never come through, or not for a long time: this word has come by another lane.
void Trunk::peer_closed(std::uint64_t connection) {
  for (LaneState& state : lanes_)
    if (state.lane != nullptr && state.lane->spec().connection == connection)
      return close_lane(state, {Code::io, "the other side has closed it"});
}

Nanoseconds Trunk::quiet(Nanoseconds now, Nanoseconds ask_after) {
  if (heard_ || now - asked_ > kForgotten || !answers_without_calls()) {
    alive_ = now;
    sign_wanted_ = false;
  } else if (now - asked_ > kMostBetween) {
    alive_ += now - asked_ - kMostBetween;
  }
  if (heard_) missed_ = false;
  heard_ = false;
  asked_ = now;
  const Nanoseconds pause = sign_wanted_ ? std::max(kAskAgain, sign_asked_ - alive_) : kAskRarely;
  if (now - alive_ >= ask_after && now - sign_asked_ >= pause) {
    sign_wanted_ = true;
    sign_asked_ = now;
    send_control(Control::alive, 0, 0);
    pump();
  }
  return now - alive_;
}

/// Some process on the other side of these lanes may compute for hours, of which nobody tells.
bool Trunk::answers_without_calls() const {
  bool up = false;
  for (const LaneState& state : lanes_) {
    if (state.lane == nullptr) continue;
    if (state.lane->answers() != Answers::call) return true;
    up = true;
  }
  return !up;
}

/// By acks, which take no id: where nobody looks at what comes, nobody sees those of the peer either.
void Trunk::show_life() {
  pending_acks_.at_least(1);
  send_acks();
}

void Trunk::tell_failed(TeamId team, std::size_t charged, const Failure& failure) {
  SentPiece& record = send_control(Control::failed, team, 0);
  encode_failure(failure, record.header);
  record.charge = charged + ahead_.release(team, kLastOperation);
  pump();
}

/// What the lane has not brought to the peer, as far as is known, goes again: pieces, and acks of ours.
void Trunk::take_back(const LaneState& state) {
  const std::uint8_t index = index_of(state);
  const std::size_t before = replays_;
  for (std::uint64_t id = log_.oldest(); id != log_.next(); ++id) {
    SentPiece& piece = log_.at(id);
    if (piece.lane != index || piece.acked) continue;
    piece.lane = kNoLane;
    ++replays_;
    replay_bytes_ += piece.header.length;
  }
  if (replays_ != before) state.rail->failovers += 1;
  if (!received_.any()) return;
  is_busy();
  pending_acks_.at_least(kAckPieces);
}

}  // namespace nezha
