// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/message_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nezha {
namespace {

/// Bodies are in memory already, so that only headers are staged.
constexpr FrameReader::Sizes kReading{2048, 1, 256};

}  // namespace

MessageLane::MessageLane(const LaneSpec& spec, std::unique_ptr<MessageChannel> channel, std::string text,
                         const MessageOptions& options, const Clock& clock, std::span<std::byte> bin)
    : Lane(spec), options_(options), clock_(clock), channel_(std::move(channel)), text_(std::move(text)), reader_(kReading, bin) {}

Lane::Sent MessageLane::send(std::span<const std::byte> header, std::span<const Gather> payload) {
  if (!channel_->open()) return Sent::down;
  if (busy()) return Sent::busy;
  const std::optional<std::size_t> size = payload_size(header, payload);
  if (!size) {
    channel_->fail({Code::internal, kBeyondLimits});
    return Sent::down;
  }
  write_envelope(out_.data(), header, *size);
  std::copy(header.begin(), header.end(), out_.begin() + kEnvelopeSize);
  rest_[0] = {out_.data(), kEnvelopeSize + header.size(), 0};
  rest_at_ = 0;
  rest_count_ = 1;
  for (const Gather& part : payload)
    if (part.size > 0) rest_[rest_count_++] = {part.data, part.size, may_lend(part) ? part.reach : 0};
  write_rest();
  if (!channel_->open()) return Sent::down;
  return busy() ? Sent::partly : Sent::whole;
}

void MessageLane::write_rest() {
  while (busy()) {
    const std::span<std::byte> body = channel_->space();
    if (body.empty()) return;
    Lent lent;
    const std::size_t filled = fill_message(body, lent);
    channel_->send(MessageType::frames, filled, std::move(lent));
  }
}

/// What is lent ends the message.
std::size_t MessageLane::fill_message(std::span<std::byte> body, Lent& lent) {
  std::size_t filled = 0;
  while (busy() && filled < body.size()) {
    const Gather& part = rest_[rest_at_];
    lent = lend(part, body.size() - filled);
    if (!lent.bytes.empty()) {
      advance(lent.bytes.size());
      break;
    }
    const std::size_t size = std::min(part.size, body.size() - filled);
    std::memcpy(body.data() + filled, part.data, size);
    filled += size;
    advance(size);
  }
  return filled;
}

bool MessageLane::may_lend(const Gather& part) const { return options_.lend_from != 0 && part.reach >= options_.lend_from; }

/// A short end of a part is copied: lending has its price.
Lent MessageLane::lend(const Gather& part, std::size_t room) {
  const std::size_t size = std::min(part.size, room);
  return part.reach != 0 && size >= options_.least_lent ? channel_->lend({part.data, size}, part.reach) : Lent{};
}

void MessageLane::advance(std::size_t size) {
  Gather& part = rest_[rest_at_];
  part.data += size;
  part.size -= size;
  if (part.reach != 0) part.reach -= size;
  if (part.size != 0) return;
  ++rest_at_;
  --rest_count_;
}

void MessageLane::own_rest() {
  if (owned_ != nullptr || !busy()) return;
  std::size_t size = 0;
  for (const Gather& part : rest()) size += part.size;
  owned_ = std::make_unique_for_overwrite<std::byte[]>(size);
  std::size_t at = 0;
  for (const Gather& part : rest()) {
    std::memcpy(owned_.get() + at, part.data, part.size);
    at += part.size;
  }
  rest_at_ = 0;
  rest_count_ = 1;
  rest_[0] = {owned_.get(), size, 0};
}

void MessageLane::room() {
  if (!busy()) return;
  write_rest();
  if (busy() || !channel_->open()) return;
  owned_.reset();
  events_->lane_free(*this);
}

Status MessageLane::message(MessageType type, std::span<const std::byte> body) {
  if (type == MessageType::credit) return {};
  if (type != MessageType::frames) return {Code::bad_wire, "a message out of turn"};
  std::array<iovec, FrameReader::kMaxPlaces> places;
  while (!body.empty() && channel_->open()) {
    const std::size_t count = reader_.plan(places);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count && taken < body.size(); ++i) {
      const std::size_t size = std::min(places[i].iov_len, body.size() - taken);
      std::memcpy(places[i].iov_base, body.data() + taken, size);
      taken += size;
    }
    body = body.subspan(taken);
    if (Status status = reader_.took(taken, *this, *events_); !status.ok()) return status;
  }
  return {};
}

/// A process that answers only in calls may not acknowledge the last messages for hours, nor may this one be able to
/// send what waits; the engine looks at a lane again and again as long as there is something in it.
std::size_t MessageLane::fill() {
  const bool over = answers() == Answers::call && clock_.now() - channel_->sent_at() >= options_.call_time;
  std::size_t size = over ? 0 : channel_->unacked_bytes();
  for (const Gather& part : rest()) size += part.size;
  return size;
}

/// It was long where the other process did something else just then: asked again, it shrinks to what the network takes.
Nanoseconds MessageLane::min_rtt() {
  channel_->ask_now_and_then();
  return channel_->least_answer();
}

/// What the other process has acknowledged is all that is known of the far end. It is asked at once: an answer that nobody has
/// asked for would seem overdue at the next look, and whoever then asks by another lane waits for one there, too, for ever.
LanePulse MessageLane::pulse() {
  if (!channel_->open() || answers() == Answers::call) return {};
  LanePulse pulse;
  pulse.in_flight = channel_->unacked_bytes();
  if (pulse.in_flight != 0) channel_->ask();
  pulse.delivered = channel_->acked();
  pulse.heard = clock_.now() - channel_->heard_at();
  pulse.rtt = channel_->usual_answer() != 0 ? channel_->usual_answer() : options_.answer_time;
  return pulse;
}

void MessageLane::close() {
  reader_.stop();
  rest_count_ = 0;
  owned_.reset();
  channel_->close();
}

void MessageLane::lost(const Status& why) {
  const bool inside = reader_.inside_frame();
  close();
  events_->lane_down(*this, inside && why.code() == Code::closed
                                ? Status{Code::io, "the other side closed the connection in the middle of a frame"}
                                : why);
}

}  // namespace nezha
