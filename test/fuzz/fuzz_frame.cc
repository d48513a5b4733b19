// SPDX-License-Identifier: BSD-3-Clause
/// The stream of a lane: good frames, spoiled ones and noise, cut into reads of any size. What is good must arrive
/// as it was sent, and after the first bad byte that is noticed nothing may happen.
///
/// Input: commands. First byte: how reads are cut. Then, until the end: a byte that says which command, and its bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "rail/frame.h"
#include "rail/frame_reader.h"

#include "../unit/no_lane.h"
#include "require.h"

namespace {

using namespace nezha;
using Bytes = std::vector<std::byte>;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  std::size_t byte() { return empty() ? 0 : *at_++; }
  std::size_t word() { return byte() | byte() << 8; }
  /// `size` bytes; what the input lacks is made up.
  Bytes bytes(std::size_t size) {
    Bytes taken(size);
    for (std::size_t i = 0; i < size; ++i) taken[i] = static_cast<std::byte>(empty() ? i * 7 : *at_++);
    return taken;
  }

 private:
  const std::uint8_t *at_, *end_;
};

struct Frame {
  Bytes header, payload;
};

/// Gives every segment memory of exactly its size, so that the sanitizer sees a byte too much.
class Checker final : public LaneEvents {
 public:
  Checker(const std::vector<Frame>& good, std::size_t cut) : good_(good), cut_(cut) {}

  Status frame_begins(Lane&, std::span<const std::byte> header, std::size_t payload, ScatterList& into) override {
    REQUIRE(!over && !inside_ && header.size() <= kMaxFrameHeader && payload <= kMaxFramePayload);
    inside_ = true;
    if (count < good_.size()) {
      REQUIRE(std::ranges::equal(header, good_[count].header) && payload == good_[count].payload.size());
    }
    places_.clear();
    for (std::size_t left = payload; left > 0 || places_.empty();) {
      const bool last = places_.size() + 1 == kMaxFrameSegments;
      const std::size_t size = last ? left : std::min(left, (places_.size() + 1) * (cut_ * cut_ + 1));
      places_.push_back(std::make_unique<std::byte[]>(size));
      into.segments[into.count++] = {places_.back().get(), size};
      left -= size;
    }
    sizes_ = into;
    return {};
  }

  Status frame_ends(Lane&) override {
    REQUIRE(!over && inside_);
    inside_ = false;
    if (count < good_.size()) {
      const std::byte* expected = good_[count].payload.data();
      for (std::size_t i = 0; i < sizes_.count; ++i) {
        if (sizes_.segments[i].size == 0) continue;
        REQUIRE(std::memcmp(expected, sizes_.segments[i].data, sizes_.segments[i].size) == 0);
        expected += sizes_.segments[i].size;
      }
    }
    ++count;
    return {};
  }
  void lane_free(Lane&) override { std::abort(); }
  void lane_down(Lane&, const Status&) override { std::abort(); }

  std::size_t count = 0;
  bool over = false;

 private:
  const std::vector<Frame>& good_;
  const std::size_t cut_;
  bool inside_ = false;
  std::vector<std::unique_ptr<std::byte[]>> places_;
  ScatterList sizes_;
};

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/// The stream that the commands describe; `good` are the frames in front of the first thing that is none.
Bytes stream_of(Input& input, std::vector<Frame>& good) {
  Bytes stream;
  bool spoiled = false;
  while (!input.empty() && stream.size() < 1024 * 1024) {
    const std::size_t command = input.byte() % 8;
    if (command == 0) {
      append(stream, input.bytes(input.byte()));
      spoiled = true;
      continue;
    }
    Frame frame{input.bytes(input.word() % (kMaxFrameHeader + 1)), {}};
    frame.payload = input.bytes(input.word() % 300 << (command == 2 ? 9 : 0));
    Bytes wire(kEnvelopeSize);
    write_envelope(wire.data(), frame.header, frame.payload.size());
    append(wire, frame.header);
    if (command == 1) {
      wire[input.word() % wire.size()] ^= static_cast<std::byte>(1 << input.byte() % 8);
      spoiled = true;
    }
    append(wire, frame.payload);
    append(stream, wire);
    if (!spoiled) good.push_back(std::move(frame));
  }
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t cut = input.byte();
  std::vector<Frame> good;
  const Bytes stream = stream_of(input, good);

  static test::NoLane lane;
  static Bytes bin(64 * 1024);
  FrameReader reader({2048, 4096, 256}, bin);
  Checker checker(good, cut);
  for (std::size_t at = 0; at < stream.size() && !checker.over;) {
    std::array<iovec, FrameReader::kMaxPlaces> places;
    const std::size_t count = reader.plan(places);
    std::size_t most = std::min(stream.size() - at, 1 + (cut * cut * (at % 7 + 1)) % 70000);
    if (at % 5 == 0) reader.redirect(at % 3 == 0 && checker.count >= good.size() ? at % 20 : kMaxFrameSegments);
    std::size_t took = 0;
    for (std::size_t i = 0; i < count && most > 0; ++i) {
      const std::size_t part = std::min(most, places[i].iov_len);
      std::memcpy(places[i].iov_base, stream.data() + at + took, part);
      took += part;
      most -= part;
    }
    REQUIRE(took > 0);
    at += took;
    if (!reader.took(took, lane, checker).ok()) {
      reader.stop();
      checker.over = true;
    }
  }
  REQUIRE(checker.count >= good.size());
  return 0;
}
