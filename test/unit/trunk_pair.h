// SPDX-License-Identifier: BSD-3-Clause
/// Two trunks joined by lanes that do nothing by themselves: the test decides when a frame has been handed over, when
/// it begins to arrive, when it has arrived and when a lane dies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trunk/trunk.h"

namespace nezha::test {

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::size_t size, unsigned start = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((start + i * 7 + i / 251) & 0xff);
  return bytes;
}

class TestClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  void advance(Nanoseconds by) { now_ += by; }

 private:
  Nanoseconds now_ = kSecond;
};

struct SentFrame {
  Bytes header, payload;
};

class HandLane final : public Lane {
 public:
  explicit HandLane(const LaneSpec& spec) : Lane(spec) {}

  Sent send(std::span<const std::byte> header, std::span<const Gather> payload) override {
    if (dead) return Sent::down;
    if (busy()) return Sent::busy;
    SentFrame frame{{header.begin(), header.end()}, {}};
    if (!stuck) {
      for (const Gather& part : payload) frame.payload.insert(frame.payload.end(), part.data, part.data + part.size);
      frames.push_back(std::move(frame));
      return Sent::whole;
    }
    partial = std::move(frame);
    rest.assign(payload.begin(), payload.end());
    busy_ = true;
    return Sent::partly;
  }
  bool busy() const override { return busy_; }
  void own_rest() override {
    if (!busy_) return;
    ++owned;
    for (const Gather& part : rest) partial.payload.insert(partial.payload.end(), part.data, part.data + part.size);
    rest.clear();
  }
  bool reads(std::span<const std::byte> bytes) const override {
    return bytes.data() < lent.data() + lent.size() && lent.data() < bytes.data() + bytes.size();
  }
  void redirect(std::size_t index) override {
    redirected.push_back(index);
    places.segments[index].data = nullptr;
  }
  std::size_t fill() override { return beat.in_flight; }
  LanePulse pulse() override { return ++asked, beat; }
  Nanoseconds min_rtt() override { return rtt; }
  Answers answers() const override { return answering; }
  void close() override { dead = true; }

  /// The lane reads what it has not read yet of its frame, now.
  void hand_over() {
    own_rest();
    busy_ = false;
    frames.push_back(std::move(partial));
  }

  /// Bytes of the frames that have not arrived yet.
  std::size_t given() const {
    std::size_t bytes = 0;
    for (const SentFrame& frame : frames) bytes += frame.header.size() + frame.payload.size();
    return bytes;
  }

  LanePulse beat;      ///< what it says of its far end
  Nanoseconds rtt = 0;
  bool stuck = false;  ///< frames are taken only partly
  Answers answering = Answers::transport;
  bool dead = false;
  int owned = 0;
  int asked = 0;  ///< for its pulse
  SentFrame partial;
  std::vector<Gather> rest;
  std::span<const std::byte> lent;  ///< a NIC still reads it
  std::deque<SentFrame> frames;  ///< handed over

  // The frame that is arriving at this end.
  SentFrame arriving;
  ScatterList places;
  std::vector<std::size_t> redirected;

 private:
  bool busy_ = false;
};

/// What a trunk's owner does, as far as these tests need it: pieces of begun operations go to `memory` by offset.
class TestReceiver final : public PieceReceiver, public OperationNews, public LaneNews {
 public:
  Placement place(Trunk&, const PieceHeader& piece) override {
    ++placed;
    if (bad) return {PlaceKind::bad};
    if (!has_begun(piece.team, piece.op)) return {PlaceKind::early};
    if (piece.offset + piece.length > memory.size()) return {PlaceKind::bad};
    return kind == PlaceKind::direct ? Placement{kind, memory.data() + piece.offset} : Placement{kind};
  }
  void arriving(Trunk&, const PieceHeader& piece) override { overwritten.push_back(piece.offset); }
  bool arrived(Trunk&, const PieceHeader& piece, const std::byte* data) override {
    ++arrivals[piece.id];
    Bytes& bytes = contents[{piece.op, piece.offset}];
    bytes.assign(data, data + piece.length);
    total += piece.length;
    return true;
  }
  bool has_begun(TeamId team, OpNumber op) override { return team == 1 && op <= begun; }
  void peer_at(Trunk&, TeamId team, OpNumber op, OpNumber up_to) override {
    ended = std::max(ended, up_to);
    if (on_begun) on_begun(team, op);
  }
  void team_failed(TeamId, const Failure& failure) override { failures.push_back(failure); }
  void peer_rail(Trunk&, const RailNotice& notice) override { rails.push_back(notice); }
  void lane_suspected(Trunk&, const Lane& lane, Nanoseconds) override { suspected.push_back(lane.spec().local_rail); }
  void lane_forgiven(Trunk&, const Lane& lane) override { forgiven.push_back(lane.spec().local_rail); }
  void lane_lost(Trunk&, Lane&, const Status& why) override { lost.push_back(why.text()); }

  Bytes memory = Bytes(1 << 20);
  PlaceKind kind = PlaceKind::direct;
  OpNumber begun = 1;
  bool bad = false;
  int placed = 0;
  std::map<std::uint64_t, int> arrivals;  ///< by id
  std::map<std::pair<OpNumber, std::uint64_t>, Bytes> contents;
  std::size_t total = 0;
  std::vector<std::uint64_t> overwritten;  ///< offsets of which arriving() told
  OpNumber ended = 0;                      ///< what the peer has
  std::function<void(TeamId, OpNumber)> on_begun;
  std::vector<std::string> lost;
  std::vector<Failure> failures;
  std::vector<RailNotice> rails;
  std::vector<int> suspected, forgiven;  ///< local rails
};

/// One end of each lane.
struct End {
  explicit End(ProcessId peer, const TrunkOptions& options, const Clock& clock)
      : trunk(peer, options, {receiver, receiver, receiver}, clock, log), peer_id(peer) {}

  void add_lanes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint8_t>(i);
      trunk.add_lane(index, index, loads[i]);
      lanes.push_back(nullptr);
    }
    for (std::size_t i = 0; i < count; ++i) raise(i);
  }
  void raise(std::size_t i) {
    all.push_back(std::make_unique<HandLane>(
        LaneSpec{peer_id, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i), false, i + 1 + 16 * raised[i]++}));
    lanes[i] = all.back().get();
    trunk.lane_up(*lanes[i]);
  }
  void lose(std::size_t i) {
    lanes[i]->dead = true;
    trunk.lane_down(*lanes[i], {Code::io, "gone"});
  }

  Log log;
  TestReceiver receiver;
  std::deque<RailLoad> loads{std::deque<RailLoad>(4)};
  Trunk trunk;
  ProcessId peer_id;
  std::vector<std::unique_ptr<HandLane>> all;
  std::vector<HandLane*> lanes;
  std::array<std::uint64_t, 4> raised{};  ///< how often: both ends have the same number for a connection
};

class TrunkPair : public testing::Test {
 protected:
  void open(std::size_t lanes = 2, const TrunkOptions& options = {}) {
    a = std::make_unique<End>(2, options, clock);
    b = std::make_unique<End>(1, options, clock);
    a->add_lanes(lanes);
    b->add_lanes(lanes);
    flow.open(1, 1, 4);
    flow.begun = true;
  }
  void begin(End& at, std::size_t lane, SentFrame frame) {
    HandLane& to = *at.lanes[lane];
    to.arriving = std::move(frame);
    to.places.count = 0;
    status = at.trunk.frame_begins(to, to.arriving.header, to.arriving.payload.size(), to.places);
  }
  void end(End& at, std::size_t lane) {
    HandLane& to = *at.lanes[lane];
    std::size_t from = 0;
    for (std::size_t i = 0; i < to.places.count; ++i) {
      const Scatter& place = to.places.segments[i];
      if (place.data != nullptr) std::memcpy(place.data, to.arriving.payload.data() + from, place.size);
      from += place.size;
    }
    status = at.trunk.frame_ends(to);
  }
  /// The oldest frame on a lane arrives whole. False: there is none, or it was refused.
  bool carry(End& from, End& to, std::size_t lane) {
    if (from.lanes[lane]->frames.empty()) return false;
    SentFrame frame = std::move(from.lanes[lane]->frames.front());
    from.lanes[lane]->frames.pop_front();
    begin(to, lane, std::move(frame));
    if (status.ok()) end(to, lane);
    return status.ok();
  }
  /// Everything that is handed over arrives, both ways, until nothing more comes.
  void carry_all() {
    for (bool any = true; any;) {
      any = false;
      clock.advance(kMillisecond);
      for (std::size_t i = 0; i < a->lanes.size(); ++i) any = carry(*a, *b, i) || carry(*b, *a, i) || any;
      a->trunk.pump();
      b->trunk.pump();
    }
  }
  /// Acks that are owed arrive too.
  void settle() {
    for (int i = 0; i < 4; ++i) {
      a->trunk.send_acks();
      b->trunk.send_acks();
      carry_all();
    }
  }
  /// The lanes from a to b bring so many bytes per nanosecond, until that was seen.
  void measure(double pace) {
    const Bytes source(1 << 17);
    const auto step = static_cast<std::size_t>(pace * kMillisecond);
    for (std::size_t gone = 0; gone < 60 * step; gone += step) {
      send(source), send(source);
      clock.advance(kMillisecond);
      for (std::size_t i = 0; i < a->lanes.size(); ++i) {
        a->lanes[i]->beat.in_flight = a->lanes[i]->given() - std::min(a->lanes[i]->given(), gone);
        a->loads[i].refresh(clock.now(), 0);
      }
    }
    for (HandLane* lane : a->lanes) lane->beat.in_flight = 0;
    carry_all();
    settle();
  }
  void send(const Bytes& source, std::uint64_t offset = 0, bool copied = false) {
    a->trunk.send(
        flow,
        {.data = source.data(), .offset = offset, .size = static_cast<std::uint32_t>(source.size()), .copied = copied});
  }
  bool delivered(const Bytes& source, std::uint64_t offset = 0, OpNumber op = 1) {
    return std::memcmp(b->receiver.memory.data() + offset, source.data(), source.size()) == 0 && once() && op == 1;
  }
  bool once() const {
    for (const auto& [id, times] : b->receiver.arrivals)
      if (times != 1) return false;
    return true;
  }

  TestClock clock;
  std::unique_ptr<End> a, b;
  Flow flow;  ///< from a to b
  Status status;
};

}  // namespace nezha::test
