// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/wire.h"

#include <algorithm>
#include <cstring>

#include "util/bytes.h"

namespace nezha {
namespace {

enum Kind : std::uint8_t { kPiece = 1, kAck, kCheckedPiece, kControl };

Kind kind_of(const PieceHeader& piece) { return piece.control ? kControl : piece.checked ? kCheckedPiece : kPiece; }

Status bad(const char* what) { return {Code::bad_wire, std::string("bad frame: ") + what}; }

/// Takes the record off the front of `header`.
Status parse_piece(std::span<const std::byte>& header, FrameRecords& out) {
  const std::byte* at = header.data();
  if (out.count == out.pieces.size()) return bad("too many pieces");
  PieceHeader& piece = out.pieces[out.count];
  if (header.size() < kPieceRecord) return bad("a piece record cut short");
  piece.control = at[0] == std::byte{kControl};
  piece.checked = at[0] == std::byte{kCheckedPiece};
  const std::size_t size = piece.checked ? kCheckedPieceRecord : kPieceRecord;
  if (header.size() < size) return bad("a piece record cut short");
  piece.behind = load_le<std::uint8_t>(at + 1);
  piece.step = load_le<std::uint16_t>(at + 2);
  piece.length = load_le<std::uint32_t>(at + 4);
  piece.id = load_le<std::uint64_t>(at + 8);
  piece.team = load_le<std::uint64_t>(at + 16);
  piece.op = load_le<std::uint64_t>(at + 24);
  piece.offset = load_le<std::uint64_t>(at + 32);
  piece.whole = load_le<std::uint32_t>(at + 40);
  piece.crc = piece.checked ? load_le<std::uint32_t>(at + 44) : 0;
  if (piece.id == 0) return bad("a piece without id");
  if (piece.control != (piece.length == 0)) return bad("a piece of this length cannot be");
  if (piece.behind > std::min<OpNumber>(kMostUnderWay, piece.op)) return bad("an operation ended that cannot be");
  if (piece.length > kMaxFramePayload) return bad("a piece longer than a frame may be");
  ++out.count;
  header = header.subspan(size);
  return {};
}

}  // namespace

std::size_t encode_piece(std::byte* to, const PieceHeader& piece) {
  to[0] = std::byte{kind_of(piece)};
  to[1] = std::byte{piece.behind};
  store_le<std::uint16_t>(to + 2, piece.step);
  store_le<std::uint32_t>(to + 4, piece.length);
  store_le<std::uint64_t>(to + 8, piece.id);
  store_le<std::uint64_t>(to + 16, piece.team);
  store_le<std::uint64_t>(to + 24, piece.op);
  store_le<std::uint64_t>(to + 32, piece.offset);
  store_le<std::uint32_t>(to + 40, piece.whole);
  if (kind_of(piece) != kCheckedPiece) return kPieceRecord;
  store_le<std::uint32_t>(to + 44, piece.crc);
  return kCheckedPieceRecord;
}

std::size_t encode_ack(std::byte* to, const AckRecord& ack) {
  std::memset(to, 0, 8);
  to[0] = std::byte{kAck};
  store_le<std::uint64_t>(to + 8, ack.below);
  store_le<std::uint64_t>(to + 16, ack.bits[0]);
  store_le<std::uint64_t>(to + 24, ack.bits[1]);
  return kAckRecord;
}

Status parse_records(std::span<const std::byte> header, std::size_t payload, FrameRecords& out) {
  out.count = 0;
  out.has_ack = false;
  std::size_t lengths = 0;
  while (!header.empty()) {
    const auto kind = std::to_integer<std::uint8_t>(header[0]);
    if (kind == kPiece || kind == kCheckedPiece || kind == kControl) {
      if (Status status = parse_piece(header, out); !status.ok()) return status;
      lengths += out.pieces[out.count - 1].length;
    } else if (kind == kAck) {
      if (header.size() < kAckRecord) return bad("an ack record cut short");
      out.has_ack = true;
      out.ack.below = load_le<std::uint64_t>(header.data() + 8);
      out.ack.bits = {load_le<std::uint64_t>(header.data() + 16), load_le<std::uint64_t>(header.data() + 24)};
      header = header.subspan(kAckRecord);
    } else {
      return bad("unknown record");
    }
  }
  if (lengths != payload) return bad("records and payload differ in length");
  return {};
}

}  // namespace nezha
