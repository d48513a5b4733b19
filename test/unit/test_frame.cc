// SPDX-License-Identifier: BSD-3-Clause
#include "rail/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "no_lane.h"
#include "rail/frame_reader.h"

namespace nezha {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

struct Frame {
  Bytes header, payload;
  bool operator==(const Frame&) const = default;
};

Bytes random_contents(Random& random, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes wire_of(const Frame& frame) {
  Bytes wire(kEnvelopeSize);
  write_envelope(wire.data(), frame.header, frame.payload.size());
  wire.insert(wire.end(), frame.header.begin(), frame.header.end());
  wire.insert(wire.end(), frame.payload.begin(), frame.payload.end());
  return wire;
}

TEST(Frame, EnvelopeHasTheDocumentedBytes) {
  const Bytes header{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, kEnvelopeSize> wire;
  write_envelope(wire.data(), header, 0x30201);
  const unsigned char expected[12] = {'N', 'Z', 'F', 1, 3, 0, 0, 0, 1, 2, 3, 0};
  EXPECT_EQ(std::memcmp(wire.data(), expected, sizeof(expected)), 0);
  Envelope envelope;
  ASSERT_TRUE(read_envelope(wire.data(), envelope).ok());
  EXPECT_EQ(envelope.header_size, 3);
  EXPECT_EQ(envelope.payload_size, 0x30201U);
  EXPECT_TRUE(check_header(wire.data(), envelope, header).ok());
}

TEST(Frame, EveryFlippedBitIsNoticed) {
  Random random(1);
  const Frame frame{random_contents(random, 50), {}};
  const Bytes wire = wire_of(frame);
  for (std::size_t bit = 0; bit < 8 * wire.size(); ++bit) {
    Bytes bad = wire;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    Envelope envelope;
    if (!read_envelope(bad.data(), envelope).ok()) continue;
    const std::size_t size = std::min<std::size_t>(envelope.header_size, bad.size() - kEnvelopeSize);
    EXPECT_FALSE(check_header(bad.data(), envelope, std::span(bad).subspan(kEnvelopeSize, size)).ok()) << bit;
  }
}

TEST(Frame, SizesBeyondTheLimitsAreRefusedWithAText) {
  Bytes wire(kEnvelopeSize);
  Envelope envelope;
  write_envelope(wire.data(), {}, kMaxFramePayload);
  EXPECT_TRUE(read_envelope(wire.data(), envelope).ok());
  wire[8] = std::byte{1};
  EXPECT_NE(read_envelope(wire.data(), envelope).text().find("262145"), std::string::npos);
  write_envelope(wire.data(), Bytes(kMaxFrameHeader), 0);
  EXPECT_TRUE(read_envelope(wire.data(), envelope).ok());
  wire[4] = std::byte{1};
  EXPECT_NE(read_envelope(wire.data(), envelope).text().find("1025"), std::string::npos);
  write_envelope(wire.data(), {}, 0);
  wire[3] = std::byte{2};
  EXPECT_NE(read_envelope(wire.data(), envelope).text().find("version 2"), std::string::npos);
}

/// Lays each payload out in random places, some of them the bin, and keeps what arrived.
class Keeper final : public LaneEvents {
 public:
  explicit Keeper(Random& random) : random_(random) {}

  Status frame_begins(Lane&, std::span<const std::byte> header, std::size_t payload, ScatterList& into) override {
    frames.push_back({Bytes(header.begin(), header.end()), Bytes(payload, std::byte{0})});
    into.count = 1 + random_() % kMaxFrameSegments;
    std::size_t at = 0;
    for (std::size_t i = 0; i < into.count; ++i) {
      const std::size_t size = i + 1 == into.count ? payload - at : random_() % (payload - at + 1);
      into.segments[i] = {frames.back().payload.data() + at, size};
      if (random_() % 8 == 0) {
        into.segments[i].data = nullptr;
        binned.push_back({frames.size() - 1, at, size});
      }
      at += size;
    }
    return {};
  }
  Status frame_ends(Lane&) override { return ++ended, Status{}; }
  void lane_free(Lane&) override {}
  void lane_down(Lane&, const Status&) override {}

  struct Binned {
    std::size_t frame, at, size;
  };
  std::vector<Frame> frames;
  std::vector<Binned> binned;
  std::size_t ended = 0;

 private:
  Random& random_;
};

/// Reads as a socket does: the next bytes of `wire`, at most `most`, into the places of the plan.
std::size_t scatter(const Bytes& wire, std::size_t at, std::size_t most, std::span<const iovec> places) {
  std::size_t done = 0;
  for (const iovec& place : places) {
    const std::size_t part = std::min({place.iov_len, most - done, wire.size() - at - done});
    if (part > 0) std::memcpy(place.iov_base, wire.data() + at + done, part);
    done += part;
  }
  return done;
}

TEST(FrameReader, FramesSurviveEverySplit) {
  Random random(42);
  Bytes bin(1000);
  test::NoLane lane;
  for (int round = 0; round < 60; ++round) {
    FrameReader reader({2048, 4096, 100}, std::span(bin).first(200 + random() % 800));
    Keeper keeper(random);
    std::vector<Frame> sent;
    Bytes wire;
    for (int i = 0; i < 40; ++i) {
      const std::size_t size = i % 10 == 0 ? random() % 20000 : i % 3 == 0 ? 0 : random() % 3000;
      sent.push_back({random_contents(random, random() % (kMaxFrameHeader + 1)), random_contents(random, size)});
      const Bytes one = wire_of(sent.back());
      wire.insert(wire.end(), one.begin(), one.end());
    }
    for (std::size_t at = 0; at < wire.size();) {
      std::array<iovec, FrameReader::kMaxPlaces> places;
      const std::size_t count = reader.plan(places);
      ASSERT_GT(count, 0U);
      const std::size_t most = 1 + random() % (round % 2 == 0 ? 50000 : 300);
      const std::size_t took = scatter(wire, at, most, std::span(places).first(count));
      ASSERT_GT(took, 0U);
      at += took;
      ASSERT_TRUE(reader.took(took, lane, keeper).ok());
    }
    EXPECT_EQ(keeper.ended, sent.size());
    EXPECT_FALSE(reader.inside_frame());
    for (const auto& [frame, at, size] : keeper.binned) {
      std::fill_n(sent[frame].payload.begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{0});
    }
    EXPECT_TRUE(keeper.frames == sent);
  }
}

TEST(FrameReader, LargePayloadsAreReadToTheirPlacesWithAShortTail) {
  Random random(1);
  Bytes bin(65536);
  test::NoLane lane;
  FrameReader reader({16384, 16384, 256}, bin);
  Keeper keeper(random);
  const Bytes wire = wire_of({Bytes(40), Bytes(100000)});
  std::array<iovec, FrameReader::kMaxPlaces> places;
  std::size_t count = reader.plan(places);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(places[0].iov_len, 16384U);
  std::size_t at = scatter(wire, 0, 16384, std::span(places).first(count));
  ASSERT_TRUE(reader.took(at, lane, keeper).ok());
  count = reader.plan(places);
  EXPECT_EQ(places[count - 1].iov_len, 256U);
  at += scatter(wire, at, wire.size(), std::span(places).first(count));
  EXPECT_EQ(at, wire.size());
  ASSERT_TRUE(reader.took(wire.size() - 16384, lane, keeper).ok());
  EXPECT_EQ(keeper.ended, 1U);
  EXPECT_EQ(reader.plan(places), 1U);
  EXPECT_EQ(places[0].iov_len, 256U) << "another large frame is likely";
}

}  // namespace
}  // namespace nezha
