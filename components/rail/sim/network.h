// SPDX-License-Identifier: BSD-3-Clause
/// A simulated network: virtual time, the events that are due, and the processes' transports. One thread; everything
/// that happens follows from the seed and from what is asked of it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rail/rail.h"
#include "rail/sim/random.h"
#include "util/clock.h"

namespace nezha {

class SimPort;
class SimTransport;

/// How the simulated kernels behave, alike for all lanes.
struct SimOptions {
  std::size_t send_buffer = 64 * 1024;     ///< bytes that a lane takes without waiting for the peer
  std::size_t receive_buffer = 64 * 1024;  ///< bytes that wait for a peer that does not read
  std::size_t segment = 16 * 1024;         ///< bytes that travel together
  double stall = 0;                        ///< probability that a segment takes `stall_time` longer
  Nanoseconds stall_time = 0;
  double refusal = 0;                      ///< probability that a connection is refused
  double short_write = 0;                  ///< probability that a lane takes only a part although it had room
  double short_read = 0;                   ///< probability that a look at a lane reads only a part of what is there
  double duplicate = 0;                    ///< probability that a frame goes once more over another lane to the peer
  Nanoseconds notice_min = 100 * kMicrosecond;  ///< how long an end of a cut lane does not know it
  Nanoseconds notice_max = 20 * kMillisecond;
};

class SimNetwork final : public Clock {
 public:
  SimNetwork(const SimOptions& options, std::uint64_t seed) : options_(options), random_(seed) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  Nanoseconds now() const override { return now_; }
  const SimOptions& options() const { return options_; }
  SimRandom& random() { return random_; }

  /// Calls `what` when `delay` has passed. Events of one instant happen in the order in which they were asked for.
  void after(Nanoseconds delay, std::function<void()> what);
  /// Lets the next event happen. False: nothing is to come.
  bool step();
  /// When that will be.
  Nanoseconds next() const { return events_.empty() ? std::numeric_limits<Nanoseconds>::max() : events_.front().when; }

  /// Lets all happen that comes until then.
  void run_until(Nanoseconds time);
  /// The same for so long, after which it is then.
  void pass(Nanoseconds time);

  /// Bytes that leave the one port reach the other: its carrier is there, and nothing swallows them silently.
  bool passes(const SimPort& from, const SimPort& to) const;
  /// Silent loss between two ports only, in one direction.
  void block(const SimPort& from, const SimPort& to, bool blocked);
  void unblock() { blocked_.clear(); }

  /// Sees each frame when it is handed to a lane.
  using Observer = std::function<void(ProcessId from, ProcessId to, std::span<const std::byte> header,
                                      std::span<const Gather> payload)>;
  void observe(Observer observer) { observer_ = std::move(observer); }
  /// Sees each frame's header when all of the frame has come, before its receiver is told.
  using Arrivals = std::function<void(ProcessId from, ProcessId to, std::span<const std::byte> header, std::size_t payload)>;
  void observe_arrivals(Arrivals arrivals) { arrivals_ = std::move(arrivals); }
  const Arrivals& arrivals() const { return arrivals_; }
  void frame_sent(ProcessId from, ProcessId to, std::span<const std::byte> header, std::span<const Gather> payload) {
    if (observer_) observer_(from, to, header, payload);
  }

  /// Something that no correct user of a lane can cause; such as a source that changed while its lane was reading it.
  void violation(std::string what) { violations_.push_back(std::move(what)); }
  const std::vector<std::string>& violations() const { return violations_; }

  /// Adds to the fingerprint of all that happened; equal seeds must give equal fingerprints.
  void trace(std::uint64_t what) {
    trace_ = (trace_ ^ what ^ static_cast<std::uint64_t>(now_)) * 0x100000001b3;
    trace_ ^= trace_ >> 29;
  }
  std::uint64_t fingerprint() const { return trace_; }

  void join(ProcessId id, SimTransport& transport) { transports_[id] = &transport; }
  void leave(ProcessId id) { transports_.erase(id); }
  /// Null: no such process.
  SimTransport* find(ProcessId id) const;

 private:
  struct Event {
    Nanoseconds when;
    std::uint64_t order;
    std::size_t what;  ///< of actions_
    /// Standard heaps keep the largest in front.
    bool operator<(const Event& other) const { return when != other.when ? when > other.when : order > other.order; }
  };

  const SimOptions options_;
  SimRandom random_;
  Nanoseconds now_ = kSecond;
  std::uint64_t order_ = 0;
  std::vector<Event> events_;  ///< a heap
  std::vector<std::function<void()>> actions_;
  std::vector<std::size_t> free_actions_;
  Observer observer_;
  Arrivals arrivals_;
  std::vector<std::string> violations_;
  std::uint64_t trace_ = 0xcbf29ce484222325;
  std::unordered_map<ProcessId, SimTransport*> transports_;
  std::set<std::pair<const SimPort*, const SimPort*>> blocked_;
};

}  // namespace nezha
