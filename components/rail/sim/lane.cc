// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/lane.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "rail/frame.h"

namespace nezha {

/// Tells the network's observer, and then the lane's user.
class SimLane::Arrivals final : public LaneEvents {
 public:
  explicit Arrivals(SimLane& lane) : lane_(lane) {}

  Status frame_begins(Lane& lane, std::span<const std::byte> header, std::size_t payload, ScatterList& into) override {
    if (lane_.network_.arrivals()) {
      lane_.arriving_.assign(header.begin(), header.end());
      lane_.arriving_payload_ = payload;
    }
    return lane_.events_->frame_begins(lane, header, payload, into);
  }
  Status frame_ends(Lane& lane) override {
    if (lane_.network_.arrivals())
      lane_.network_.arrivals()(lane_.spec().peer, lane_.self_, lane_.arriving_, lane_.arriving_payload_);
    return lane_.events_->frame_ends(lane);
  }
  void lane_free(Lane& lane) override { lane_.events_->lane_free(lane); }
  void lane_down(Lane& lane, const Status& why) override { lane_.events_->lane_down(lane, why); }

 private:
  SimLane& lane_;
};

SimLane::SimLane(const LaneSpec& spec, ProcessId self, SimNetwork& network, const SimPort& port,
                 std::shared_ptr<SimStream> out, std::shared_ptr<SimStream> in, SimLaneOwner& owner)
    : Lane(spec), self_(self), network_(network), port_(port), out_(std::move(out)), in_(std::move(in)),
      owner_(owner), bin_(4096), reader_({}, bin_) {
  out_->writer = this;
  in_->reader = this;
}

SimLane::~SimLane() {
  if (state_ == State::open) detach(true);
}

/// Takes what there is room for; the rest is remembered.
void SimLane::put(const std::byte* bytes, std::size_t size, std::size_t& room) {
  const std::size_t now = std::min(size, room);
  out_->write(bytes, now);
  room -= now;
  if (now == size) return;
  bytes += now;
  rest_.push_back({bytes, size - now, {bytes, bytes + (size - now)}});
}

Lane::Sent SimLane::send(std::span<const std::byte> header, std::span<const Gather> payload) {
  if (state_ != State::open) return Sent::down;
  if (busy()) return Sent::busy;
  const std::optional<std::size_t> size = payload_size(header, payload);
  if (!size) {
    network_.violation("a frame beyond the limits");
    fail({Code::internal, kBeyondLimits}, true);
    return Sent::down;
  }
  rest_.clear();
  rest_at_ = 0;
  own_.resize(kEnvelopeSize + header.size());
  write_envelope(own_.data(), header, *size);
  std::copy(header.begin(), header.end(), own_.begin() + kEnvelopeSize);
  std::size_t room = out_->room();
  if (room != 0 && network_.random().chance(network_.options().short_write)) room = network_.random().below(room);
  network_.trace(*size + header.size());
  network_.frame_sent(self_, spec().peer, header, payload);
  put(own_.data(), own_.size(), room);
  for (const Gather& part : payload) put(part.data, part.size, room);
  if (network_.options().duplicate != 0 && network_.random().chance(network_.options().duplicate))
    duplicate(payload);
  if (!busy()) return Sent::whole;
  owner_.wake();  // after a short write nothing else may come
  return Sent::partly;
}

void SimLane::duplicate(std::span<const Gather> payload) {
  std::vector<std::byte> frame = own_;  // the envelope and the header, as they were just sent
  for (const Gather& part : payload) frame.insert(frame.end(), part.data, part.data + part.size);
  owner_.duplicate(*this, std::move(frame));
}

void SimLane::repeat(std::vector<std::byte> frame) {
  if (state_ != State::open || busy()) return;
  own_ = std::move(frame);
  rest_.clear();
  rest_at_ = 0;
  rest_.push_back({own_.data(), own_.size(), own_});
  owner_.wake();
}

void SimLane::own_rest() {
  if (!busy()) return;
  std::vector<std::byte> copy;
  for (std::size_t i = rest_at_; i < rest_.size(); ++i)
    copy.insert(copy.end(), rest_[i].data, rest_[i].data + rest_[i].size);
  own_ = std::move(copy);
  rest_.clear();
  rest_at_ = 0;
  rest_.push_back({own_.data(), own_.size(), own_});
}

bool SimLane::flush() {
  if (!busy()) return false;
  const std::size_t before = out_->room();
  std::size_t room = before;
  while (busy() && room != 0) {
    Part& part = rest_[rest_at_];
    const std::size_t size = std::min(part.size, room);
    const std::byte* then = part.then.data() + (part.then.size() - part.size);
    if (std::memcmp(part.data, then, size) != 0) network_.violation("a source changed while a lane was reading it");
    out_->write(part.data, size);
    room -= size;
    part.data += size;
    part.size -= size;
    if (part.size == 0) ++rest_at_;
  }
  if (!busy()) events_->lane_free(*this);
  return before != 0;
}

bool SimLane::receive(std::size_t most) {
  bool any = false;
  std::array<iovec, FrameReader::kMaxPlaces> places;
  while (state_ == State::open && in_->available() != 0 && most != 0) {
    any = true;
    const std::size_t count = reader_.plan(places);
    std::size_t got = 0;
    for (std::size_t i = 0; i < count && in_->available() != 0 && most != got; ++i)
      got += in_->read(static_cast<std::byte*>(places[i].iov_base), std::min(places[i].iov_len, most - got));
    most -= got;
    Arrivals arrivals(*this);
    if (Status status = reader_.took(got, *this, arrivals); !status.ok()) {
      network_.violation("an honest peer's bytes were refused: " + status.text());
      fail(std::move(status), true);
    }
  }
  return any;
}

bool SimLane::progress() {
  if (state_ != State::open) return report();
  const bool sent = flush();
  const std::size_t there = in_->available();
  const bool partly = there != 0 && network_.random().chance(network_.options().short_read);
  const bool received = receive(partly ? 1 + network_.random().below(there) : there);
  if (partly) owner_.wake();
  return progress_rare() || sent || received;
}

bool SimLane::progress_rare() {
  if (state_ == State::open && in_->ended()) {
    receive(in_->available());
    fail({Code::closed, "the other side closed the connection"}, true);
  }
  return report();
}

void SimLane::break_off(const std::string& why, bool linger, Nanoseconds slower) {
  out_->slow_down(slower);
  fail({Code::io, why}, linger);
}

void SimLane::cut() {
  out_->cut();
  in_->cut();
}

void SimLane::fail(Status why, bool linger) {
  if (state_ != State::open) return;
  state_ = State::broken;
  why_ = std::move(why);
  detach(linger);
  owner_.wake();
}

bool SimLane::report() {
  if (state_ != State::broken) return false;
  state_ = State::closed;
  network_.trace(2);
  events_->lane_down(*this, why_);
  return true;
}

std::size_t SimLane::fill() {
  if (state_ != State::open) return 0;
  std::size_t rest = 0;
  for (std::size_t i = rest_at_; i < rest_.size(); ++i) rest += rest_[i].size;
  return out_->under_way() + rest;
}

LanePulse SimLane::pulse() {
  if (state_ != State::open) return {};
  const Nanoseconds heard = network_.now() - std::max(out_->answered_at(), in_->arrived_at());
  return {out_->answered(), out_->unanswered(), heard, min_rtt()};
}

void SimLane::close() {
  if (state_ == State::open) detach(true);
  state_ = State::closed;
}

void SimLane::detach(bool linger) {
  reader_.stop();
  rest_.clear();
  rest_at_ = 0;
  out_->writer = nullptr;
  in_->abandon();
  if (linger)
    out_->end();
  else
    out_->abort();
}

}  // namespace nezha
