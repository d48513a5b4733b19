// SPDX-License-Identifier: BSD-3-Clause
#include "recorder.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "engine/address.h"
#include "reduce/kernels.h"
#include "trunk/wire.h"
#include "tuning/plan.h"

namespace nezha_simulate {

using namespace nezha;  // NOLINT: the engine's names are all over this file

namespace {

constexpr double kBytesPerNanosecond = 12.5;

}  // namespace

/// A piece, by where it lies in the vector.
struct Recorder::Sent {
  int from, to;
  std::uint64_t begin, end;
  std::uint16_t step;
  std::vector<std::size_t> after;
};

/// What a piece waits for: what had come to its sender of the same bytes, but not of the same step, in which ranks
/// exchange what neither waits for.
struct Recorder::Book {
  std::vector<Sent> sent;
  std::map<std::tuple<ProcessId, ProcessId, std::uint64_t>, std::size_t> by_id;
  std::vector<std::vector<std::size_t>> come;  ///< by rank

  template <typename Take>
  static void each(std::span<const std::byte> header, std::size_t payload, Take take) {
    FrameRecords records;
    if (!parse_records(header, payload, records).ok()) return;
    for (std::size_t i = 0; i < records.count; ++i)
      if (!records.pieces[i].control && records.pieces[i].length > 0) take(records.pieces[i]);
  }

  void goes(ProcessId from, ProcessId to, const PieceHeader& piece) {
    if (!by_id.emplace(std::tuple(from, to, piece.id), sent.size()).second) return;  // sent again
    Sent made{static_cast<int>(from) - 1,
              static_cast<int>(to) - 1,
              piece.offset,
              piece.offset + piece.length,
              piece.step,
              {}};
    for (const std::size_t number : come[static_cast<std::size_t>(made.from)]) {
      const Sent& had = sent[number];
      if (had.begin < made.end && made.begin < had.end && had.step != made.step) made.after.push_back(number);
    }
    sent.push_back(std::move(made));
  }

  void comes(ProcessId from, ProcessId to, const PieceHeader& piece) {
    const auto found = by_id.find(std::tuple(from, to, piece.id));
    if (found != by_id.end()) come[static_cast<std::size_t>(to) - 1].push_back(found->second);
  }
};

Recorder::Recorder(int ranks) : network_({.send_buffer = 1 << 20, .receive_buffer = 1 << 20, .segment = 1 << 16}, 1) {
  config_.mesh_peers = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    SimPortOptions options;
    options.rate = kBytesPerNanosecond;
    options.delay = kMicrosecond;
    ports_.push_back(std::make_unique<SimPort>(network_, options));
    const auto id = static_cast<ProcessId>(rank) + 1;
    cores_.push_back(std::make_unique<Core>(config_, network_, Log(), static_cast<std::uint32_t>(rank),
                                            "n" + std::to_string(rank), id, Secret{}));
    Core& core = *cores_.back();
    core.add_transport(std::make_unique<SimTransport>(network_, network_, id,
                                                      std::vector<SimPort*>{ports_.back().get()}, core, [] {}));
  }
  for (int rank = 0; rank < ranks; ++rank) teams_.push_back(make_team(rank));
}

Recorder::~Recorder() = default;

Team* Recorder::make_team(int own) {
  std::vector<Peer*> peers;
  Core& core = *cores_[static_cast<std::size_t>(own)];
  for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
    Status why;
    peers.push_back(static_cast<int>(rank) == own ? nullptr
                                                  : core.add_peer(encode_address(cores_[rank]->self()), false, why));
  }
  return core.create_team("team", own, std::move(peers), 0);
}

/// Lets time pass until `done`, for at most a minute of it.
template <typename Done>
bool Recorder::drive(const Done& done) {
  constexpr Nanoseconds kStep = 20 * kMicrosecond;
  for (const Nanoseconds limit = network_.now() + 60 * kSecond; network_.now() < limit;) {
    const Nanoseconds next = network_.now() + kStep;
    network_.after(kStep, [] {});
    while (network_.next() <= next) network_.step();
    for (const auto& core : cores_) {
      core->step(network_.now());
      core->progress(Watch::all);
    }
    if (done()) return true;
  }
  return false;
}

bool Recorder::agree() {
  return drive([&] {
    std::array<std::uint64_t, NEZHA_VOTE_WORDS> all{}, words;
    for (std::size_t rank = 0; rank < cores_.size(); ++rank) {
      cores_[rank]->vote(*teams_[rank], words);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] |= words[i];
    }
    bool ready = true;
    for (std::size_t rank = 0; rank < cores_.size(); ++rank)
      ready = cores_[rank]->decide(*teams_[rank], all) == NEZHA_TEAM_READY && ready;
    return ready;
  });
}

void Recorder::begin(std::size_t rank, std::vector<float>& vector, AlgorithmChoice algorithm) {
  Call call;
  call.send = call.recv = reinterpret_cast<std::byte*>(vector.data());
  call.count = vector.size();
  call.element = sizeof(float);
  call.chunk = Plan::from(config_).chunk_for({.algorithm = algorithm}, call.bytes(), call.element,
                                             static_cast<int>(cores_.size()));
  call.reducer = {find_kernel(NEZHA_FLOAT, NEZHA_SUM), nullptr, nullptr, nullptr, sizeof(float)};
  cores_[rank]->start(*teams_[rank], call, algorithm);
}

std::string Recorder::record(AlgorithmChoice algorithm, std::size_t bytes, std::ostream& out) {
  if (!agree()) return "the ranks' lanes have not come up";
  Book book;
  book.come.resize(cores_.size());
  network_.observe(
      [&](ProcessId from, ProcessId to, std::span<const std::byte> header, std::span<const Gather> payload) {
        std::size_t size = 0;
        for (const Gather& part : payload) size += part.size;
        Book::each(header, size, [&](const PieceHeader& piece) { book.goes(from, to, piece); });
      });
  network_.observe_arrivals([&](ProcessId from, ProcessId to, std::span<const std::byte> header, std::size_t payload) {
    Book::each(header, payload, [&](const PieceHeader& piece) { book.comes(from, to, piece); });
  });
  std::vector<std::vector<float>> vectors(cores_.size(),
                                          std::vector<float>(std::max<std::size_t>(1, bytes / sizeof(float)), 1));
  for (std::size_t rank = 0; rank < cores_.size(); ++rank) begin(rank, vectors[rank], algorithm);
  const bool finished = drive([&] {
    bool all = true;
    for (Team* team : teams_) all = team->finished() && all;
    return all;
  });
  network_.observe(nullptr);
  network_.observe_arrivals(nullptr);
  if (!finished) return "the allreduce has not come to its end";
  for (const std::vector<float>& vector : vectors)
    if (vector.front() != static_cast<float>(cores_.size()) || vector.back() != vector.front()) return "a sum is wrong";
  out << "nezha-traffic 1\nranks " << cores_.size() << '\n';
  for (const Sent& piece : book.sent) {
    out << piece.from << ' ' << piece.to << ' ' << piece.end - piece.begin;
    for (const std::size_t number : piece.after) out << ' ' << number + 1;
    out << '\n';
  }
  return {};
}

}  // namespace nezha_simulate
