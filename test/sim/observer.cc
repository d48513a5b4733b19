// SPDX-License-Identifier: BSD-3-Clause
#include "observer.h"

#include <string>
#include <utility>

#include "../unit/count_allocations.h"
#include "trunk/wire.h"
#include "util/crc32c.h"

namespace nezha::test {

Observer::Observer(SimNetwork& network, bool sees_all, OnAck on_ack)
    : network_(network), sees_all_(sees_all), on_ack_(std::move(on_ack)) {
  network.observe([this](ProcessId from, ProcessId to, std::span<const std::byte> header,
                         std::span<const Gather> payload) {
    const std::size_t before = live_bytes();
    look(from, to, header, payload);
    memory_ += live_bytes() - before;
  });
}

/// One answer may have come before the question.
void Observer::look_at_control(ProcessId from, ProcessId to, const PieceHeader& piece) {
  if (piece.step == static_cast<std::uint16_t>(Control::want))
    wants_[{from, to, piece.team, piece.op}].insert(piece.id);
  if (piece.step != static_cast<std::uint16_t>(Control::begun)) return;
  std::set<std::uint64_t>& answers = begins_[{from, to, piece.team, piece.op}];
  answers.insert(piece.id);
  if (answers.size() > wants_[{to, from, piece.team, piece.op}].size() + 1)
    network_.violation("the same question for window was answered twice");
}

void Observer::look(ProcessId from, ProcessId to, std::span<const std::byte> header, std::span<const Gather> payload) {
  std::size_t size = 0;
  for (const Gather& part : payload) size += part.size;
  FrameRecords records;
  if (Status status = parse_records(header, size, records); !status.ok())
    return network_.violation("a frame that is sent cannot be read: " + status.text());
  if (records.count == 0) on_ack_(from, to);
  Sums& sums = sums_[{from, to}];
  std::size_t segment = 0;
  for (std::size_t i = 0; i < records.count; ++i) {
    const PieceHeader& piece = records.pieces[i];
    if (piece.control && sees_all_) look_at_control(from, to, piece);
    if (sums.size() <= piece.id) sums.resize(piece.id + 64);
    if (piece.length == 0) continue;
    const Gather& bytes = payload[segment++];
    const std::uint32_t sum = crc32c(0, bytes.data, bytes.size) | 1;
    if (sums[piece.id] != 0 && sums[piece.id] != sum)
      network_.violation("piece " + std::to_string(piece.id) + " of step " + std::to_string(piece.step) +
                         " has changed before it was sent again");
    sums[piece.id] = sum;
  }
}

void Observer::forget(ProcessId one, ProcessId other) {
  const auto theirs = [&](ProcessId from, ProcessId to) {
    return (from == one && to == other) || (from == other && to == one);
  };
  const std::size_t before = live_bytes();
  std::erase_if(sums_, [&](const auto& entry) { return theirs(entry.first.first, entry.first.second); });
  for (Ids* ids : {&wants_, &begins_})
    std::erase_if(*ids, [&](const auto& entry) { return theirs(std::get<0>(entry.first), std::get<1>(entry.first)); });
  memory_ -= before - live_bytes();
}

}  // namespace nezha::test
