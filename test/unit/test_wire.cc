// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/wire.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace nezha {
namespace {

PieceHeader some_piece() {
  PieceHeader piece;
  piece.id = 0x1122334455667788;
  piece.team = 0x99aabbccddeeff00;
  piece.op = 0x2122232401020304;
  piece.behind = 7;
  piece.step = 0x0506;
  piece.length = 0x00010203;
  piece.offset = 0x1716151413121110;
  piece.whole = 0x31323334;
  piece.crc = 0xcafebabe;
  piece.checked = true;
  return piece;
}

TEST(Wire, PiecesAndAcksComeBack) {
  std::vector<std::byte> header(kCheckedPieceRecord + kAckRecord + kPieceRecord);
  const PieceHeader piece = some_piece();
  PieceHeader control;
  control.id = 1;
  control.control = true;
  control.step = 2;
  EXPECT_EQ(encode_piece(header.data(), piece), kCheckedPieceRecord);
  EXPECT_EQ(encode_ack(header.data() + kCheckedPieceRecord, {.below = 77, .bits = {5, 6}}), kAckRecord);
  EXPECT_EQ(encode_piece(header.data() + kCheckedPieceRecord + kAckRecord, control), kPieceRecord);
  FrameRecords records;
  ASSERT_TRUE(parse_records(header, piece.length, records).ok());
  ASSERT_EQ(records.count, 2u);
  EXPECT_EQ(records.pieces[0].id, piece.id);
  EXPECT_EQ(records.pieces[0].team, piece.team);
  EXPECT_EQ(records.pieces[0].op, piece.op);
  EXPECT_EQ(records.pieces[0].ended(), piece.op - 7);
  EXPECT_EQ(records.pieces[0].step, piece.step);
  EXPECT_EQ(records.pieces[0].length, piece.length);
  EXPECT_EQ(records.pieces[0].offset, piece.offset);
  EXPECT_EQ(records.pieces[0].whole, piece.whole);
  EXPECT_EQ(records.pieces[0].crc, piece.crc);
  EXPECT_TRUE(records.pieces[0].checked);
  EXPECT_FALSE(records.pieces[0].control);
  EXPECT_TRUE(records.pieces[1].control);
  EXPECT_EQ(records.pieces[1].ended(), 0u);
  EXPECT_EQ(records.pieces[1].length, 0u);
  ASSERT_TRUE(records.has_ack);
  EXPECT_EQ(records.ack.below, 77u);
  EXPECT_EQ(records.ack.bits, (std::array<std::uint64_t, 2>{5, 6}));
}

/// The layout in wire.h's comment, byte by byte: it may not change without kWireVersion.
TEST(Wire, TheBytesAreTheDocumentedOnes) {
  std::array<std::byte, kCheckedPieceRecord> bytes;
  encode_piece(bytes.data(), some_piece());
  constexpr std::uint8_t kExpected[kCheckedPieceRecord] = {
      3,    7,    0x06, 0x05, 0x03, 0x02, 0x01, 0x00, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
      0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x04, 0x03, 0x02, 0x01, 0x24, 0x23, 0x22, 0x21,
      0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x34, 0x33, 0x32, 0x31, 0xbe, 0xba, 0xfe, 0xca};
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), kExpected[i]) << i;
}

TEST(Wire, BadHeadersAreRefused) {
  FrameRecords records;
  std::vector<std::byte> header(kCheckedPieceRecord);
  const PieceHeader good = some_piece();
  const auto refused = [&](std::size_t payload) {
    return parse_records(header, payload, records).code() == Code::bad_wire;
  };
  const auto write = [&](PieceHeader piece) { encode_piece(header.data(), piece); };
  write(good);
  EXPECT_FALSE(refused(good.length));
  EXPECT_TRUE(refused(good.length + 1));
  EXPECT_TRUE(refused(0));
  header[0] = std::byte{5};
  EXPECT_TRUE(refused(good.length));
  write(good);
  header[1] = std::byte{kMostUnderWay + 1};
  EXPECT_TRUE(refused(good.length));
  PieceHeader piece = good;
  piece.op = 6;
  write(piece);
  EXPECT_TRUE(refused(good.length)) << "it has ended what has no number";
  piece = good;
  piece.id = 0;
  write(piece);
  EXPECT_TRUE(refused(good.length));
  piece = good;
  piece.length = 0;
  write(piece);
  EXPECT_TRUE(refused(0));
  piece = good;
  piece.control = true;
  write(piece);
  EXPECT_TRUE(refused(good.length));
  piece = good;
  piece.length = kMaxFramePayload + 1;
  write(piece);
  EXPECT_TRUE(refused(piece.length));
  write(good);
  for (std::size_t cut = 1; cut < kCheckedPieceRecord; ++cut) {
    header.resize(kCheckedPieceRecord - cut);
    EXPECT_TRUE(refused(good.length)) << cut;
  }
  header.assign(kAckRecord - 1, std::byte{0});
  header[0] = std::byte{2};
  EXPECT_TRUE(refused(0));
}

TEST(Wire, AtMostSoManyPieces) {
  PieceHeader piece;
  piece.control = true;
  std::vector<std::byte> header((kMaxFrameSegments + 1) * kPieceRecord);
  for (std::size_t i = 0; i <= kMaxFrameSegments; ++i) {
    piece.id = i + 1;
    encode_piece(header.data() + i * kPieceRecord, piece);
  }
  FrameRecords records;
  EXPECT_EQ(parse_records(header, 0, records).code(), Code::bad_wire);
  EXPECT_TRUE(parse_records(std::span(header).first(kMaxFrameSegments * kPieceRecord), 0, records).ok());
  EXPECT_EQ(records.count, kMaxFrameSegments);
}

TEST(Wire, LengthsDoNotOverflow) {
  std::vector<std::byte> header(kMaxFrameSegments * kCheckedPieceRecord);
  for (std::size_t i = 0; i < kMaxFrameSegments; ++i) {
    PieceHeader piece = some_piece();
    piece.length = kMaxFramePayload;
    encode_piece(header.data() + i * kCheckedPieceRecord, piece);
  }
  FrameRecords records;
  EXPECT_FALSE(parse_records(header, 0, records).ok());
  EXPECT_TRUE(parse_records(header, kMaxFrameSegments * kMaxFramePayload, records).ok());
}

}  // namespace
}  // namespace nezha
