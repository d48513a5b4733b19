// SPDX-License-Identifier: BSD-3-Clause
#include "rail/frame_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "rail/frame.h"

namespace nezha {

FrameReader::FrameReader(const Sizes& sizes, std::span<std::byte> bin)
    : sizes_(sizes), bin_(bin), staging_(std::make_unique_for_overwrite<std::byte[]>(sizes.staging)) {
  assert(sizes.staging >= kEnvelopeSize + kMaxFrameHeader && sizes.tail > 0 && sizes.tail <= sizes.staging);
  assert(!bin.empty());
}

std::size_t FrameReader::plan(std::span<iovec, kMaxPlaces> places) {
  if (in_payload_) return plan_payload(places);
  if (begin_ > 0) {
    std::memmove(staging_.get(), staging_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t room = sizes_.staging - end_;
  places[0] = {staging_.get() + end_, large_ ? std::min(sizes_.tail, room) : room};
  return 1;
}

std::size_t FrameReader::plan_payload(std::span<iovec, kMaxPlaces> places) {
  begin_ = end_ = 0;
  std::size_t count = 0;
  std::size_t planned = 0;
  std::size_t offset = offset_;
  for (std::size_t at = at_; at < places_.count && count < kMaxPlaces; ++at, offset = 0) {
    const Scatter& segment = places_.segments[at];
    std::size_t left = segment.size - offset;
    if (segment.data != nullptr) {
      if (left > 0) places[count++] = {segment.data + offset, left};
      planned += left;
      continue;
    }
    while (left > 0 && count < kMaxPlaces) {
      const std::size_t part = std::min(left, bin_.size());
      places[count++] = {bin_.data(), part};
      planned += part;
      left -= part;
    }
  }
  if (planned == remaining_ && count < kMaxPlaces) {
    places[count++] = {staging_.get(), large_ ? sizes_.tail : sizes_.staging};
  }
  return count;
}

Status FrameReader::took(std::size_t size, Lane& lane, LaneEvents& events) {
  if (in_payload_) {
    const std::size_t direct = std::min(size, remaining_);
    advance(direct, nullptr);
    size -= direct;
  }
  end_ += size;
  return read_staged(lane, events);
}

void FrameReader::advance(std::size_t size, const std::byte* from) {
  remaining_ -= size;
  while (size > 0) {
    const Scatter& segment = places_.segments[at_];
    const std::size_t part = std::min(size, segment.size - offset_);
    if (from != nullptr && part > 0) {
      if (segment.data != nullptr) std::memcpy(segment.data + offset_, from, part);
      from += part;
    }
    size -= part;
    offset_ += part;
    if (offset_ == segment.size) {
      ++at_;
      offset_ = 0;
    }
  }
}

Status FrameReader::read_staged(Lane& lane, LaneEvents& events) {
  while (!stopped_) {
    if (in_payload_) {
      const std::size_t part = std::min(remaining_, end_ - begin_);
      advance(part, staging_.get() + begin_);
      begin_ += part;
      if (remaining_ > 0) return {};
      in_payload_ = false;
      Status status = events.frame_ends(lane);
      if (!status.ok()) return status;
      continue;
    }
    if (end_ - begin_ < kEnvelopeSize) return {};
    bool begun = false;
    Status status = begin_frame(lane, events, begun);
    if (!status.ok() || !begun) return status;
  }
  return {};
}

Status FrameReader::begin_frame(Lane& lane, LaneEvents& events, bool& begun) {
  const std::byte* from = staging_.get() + begin_;
  const std::size_t staged = end_ - begin_;
  Envelope envelope;
  Status status = read_envelope(from, envelope);
  if (!status.ok()) return status;
  if (staged < kEnvelopeSize + envelope.header_size) return {};
  const std::span<const std::byte> header{from + kEnvelopeSize, envelope.header_size};
  status = check_header(from, envelope, header);
  if (!status.ok()) return status;
  begin_ += kEnvelopeSize + envelope.header_size;
  places_.count = 0;
  at_ = offset_ = 0;
  remaining_ = envelope.payload_size;
  large_ = envelope.payload_size >= sizes_.large_frame;
  begun = true;
  status = events.frame_begins(lane, header, envelope.payload_size, places_);
  if (!status.ok() || stopped_) return status;
  in_payload_ = true;
  return check_places();
}

Status FrameReader::check_places() const {
  std::size_t sum = 0;
  if (places_.count > kMaxFrameSegments) return {Code::internal, "a frame was given too many places"};
  for (std::size_t i = 0; i < places_.count; ++i) sum += std::min(places_.segments[i].size, kMaxFramePayload + 1);
  if (sum != remaining_) return {Code::internal, "a frame was given places for another size"};
  return {};
}

void FrameReader::redirect(std::size_t index) {
  if (in_payload_ && index < places_.count) places_.segments[index].data = nullptr;
}

}  // namespace nezha
