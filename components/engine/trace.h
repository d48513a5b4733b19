// SPDX-License-Identifier: BSD-3-Clause
/// What one process writes down of a job for `nezha report`: bytes per rail over time, what happens to lanes, and what its
/// calls took. JSON, an object per line; times are milliseconds since the engine was made. Off, it costs a look at a pointer.
///
///   {"kind":"start","format":1,"version":V,"node":N,"tick_ms":50,"command":C,"parameters":{NAME:VALUE,...}}
///   {"kind":"rails","names":[...]}                              the order of all lists below; again when rails are added
///   {"kind":"traffic","t":T,"sent":[...],"received":[...]}      bytes of the tick before T, which after a pause is when that began
///   {"kind":"lane","t":T,"event":E,"lane":L,"peer":P,"why":W}   up, suspect, answers, lost
///   {"kind":"call","t":T,"ranks":R,"bytes":B,"us":U,"way":A,"sent":[...]}          the first 512 calls of a size class, each
///   {"kind":"calls","t":T,"class":K,"calls":C,"us":U,"least_us":L,"way":A,"sent":[...]}   later ones, once a tick: means
///   {"kind":"memory","t":T,"calls":C,"bytes":B,"us":U,"copied_in_us":...,"reduced_us":...,"gathered_us":...,"between_us":...,
///    "shared_us":...}                                           at the job's end, if there were such calls: nezha_memory_stats_t
///   {"kind":"full","t":T}                                       at 32 MiB the file ends
///
/// Where a part of the vectors went through an aggregator, a line of calls also has "aggregated":P, that part of 1.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lane_watcher.h"
#include "nezha/nezha.h"
#include "rail/rail.h"
#include "trunk/rail_load.h"
#include "tuning/candidate.h"
#include "util/clock.h"
#include "util/fd.h"
#include "util/params.h"
#include "util/status.h"

namespace nezha {

/// What a trace says of its job in its first line.
struct TraceSubject {
  std::string_view node;
  std::string_view command;  ///< of this process, with its arguments
  std::span<const GivenParameter> parameters;
};

/// Lines are made under the engine's lock and written without it, by one thread at a time.
class Trace final : public LaneWatcher {
 public:
  using Bytes = std::array<std::uint64_t, kMaxRails>;

  /// Null, and `why` set, when the file cannot be made, something else than a file has that name, or another trace writes
  /// it. `clock`, `loads` and `rails` outlive the trace; rails may be added to both.
  static std::unique_ptr<Trace> open(const std::string& path, const TraceSubject& subject, const Clock& clock,
                                     const std::deque<RailLoad>& loads, const std::vector<RailAddress>& rails,
                                     Status& why);
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// A call that is over; `names`: of the way's rails; `sent`: by each rail in it; `aggregated`: bytes of the vector.
  void call(Nanoseconds began, std::size_t bytes, int ranks, const Candidate& way, const RailNames& names, const Bytes& sent,
            std::size_t aggregated);
  /// What calls did in the node's shared memory, at the job's end. Nothing where there were none.
  void memory(const nezha_memory_stats_t& stats);
  void lane(std::string_view event, std::string_view label, std::string_view peer, std::string_view why) override;
  /// To be called often while anything is carried; writes down what came together since the last tick when one is over.
  void tick(Nanoseconds now);

  /// What is to be written; empty when that is nothing.
  std::string take();
  /// Without the lock. A file that cannot be written to gets nothing more; not ok, once: why.
  Status write(const std::string& lines);

 private:
  struct Size {
    std::uint64_t calls = 0;  ///< in all
    std::uint64_t since = 0;  ///< since the last tick, beyond those written singly
    Nanoseconds time = 0, least = 0;
    std::uint64_t bytes = 0, aggregated = 0;
    Candidate way;
    std::string way_text;
    Bytes sent{};
  };

  Trace(std::string path, Fd file, const Clock& clock, const std::deque<RailLoad>& loads,
        const std::vector<RailAddress>& rails);
  void name_rails();
  double milliseconds(Nanoseconds when) const;
  void line(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void add(std::string_view line);
  void traffic(Nanoseconds when);
  void summarise(std::size_t index, Nanoseconds when);
  std::string list(const Bytes& bytes) const;

  const Clock& clock_;
  const std::deque<RailLoad>& loads_;
  const std::vector<RailAddress>& addresses_;
  const Nanoseconds origin_;
  const std::string path_;
  Fd file_;
  std::size_t rails_ = 0;  ///< whose names are written
  Nanoseconds ticked_ = 0;
  Nanoseconds told_ = 0;  ///< the last tick() or call()
  Bytes sent_{}, received_{};  ///< at the last tick
  std::array<Size, NEZHA_SIZE_CLASSES> sizes_{};
  std::string lines_;
  std::size_t made_ = 0;  ///< bytes of lines so far
  bool full_ = false;
};

}  // namespace nezha
