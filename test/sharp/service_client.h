// SPDX-License-Identifier: BSD-3-Clause
/// How the stub of the SHARP library reduces: as a member of a star at an aggregation service (nezha-aggregate), to which it
/// has lanes of its own. The engine that has opened the stub has no part in them.
///
/// A thread drives the lanes. Functions may be called by any other thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/aggregation/star.h"
#include "engine/core.h"
#include "engine/engine.h"
#include "util/fd.h"

namespace nezha::test {

class ServiceClient final : public Guests {
 public:
  /// Where the service is, its key, and which rails go there.
  struct Service {
    Config config;
    Secret key{};
  };
  /// "HOST:PORT KEY_FILE [NAME=VALUE]...": names are those of parameters. Blocks on the file system.
  static Status read(const std::string& text, Service& service);

  /// One reduction of a whole vector. It stays where it is until it has an outcome.
  struct Work {
    enum class Outcome { under_way, summed, lost };

    Call call;  ///< with its type and operation in `star`
    std::atomic<Outcome> outcome = Outcome::under_way;
  };

  /// `rank`: in the job, or in the star.
  ServiceClient(const Service& service, std::uint32_t rank, const std::string& node);
  /// Nothing is under way.
  ~ServiceClient();
  ServiceClient(const ServiceClient&) = delete;
  ServiceClient& operator=(const ServiceClient&) = delete;

  /// Finds the rails and begins to greet the service.
  Status open();
  /// Waits for a lane to the service. Returns the service's number, the same for all its clients; 0: no lane has come up.
  std::uint64_t reached();
  /// The only star of this client begins: all members call this before one begins some work.
  void join(TeamId id, int members, int position);
  void leave();
  /// One at a time, in the same order on all members.
  void begin(Work& work);
  /// For its outcome.
  void wait(const Work& work);

 private:
  void run();
  bool turn();
  void conclude(Nanoseconds now);
  Nanoseconds longest_rest() const;
  void wake();
  const Peer* linked() const;
  Star* find(TeamId id) { return star_ && star_->id() == id ? &*star_ : nullptr; }

  // Guests: with the lock, while turn() runs.
  Placement place(Trunk& trunk, const PieceHeader& piece) override;
  void arriving(Trunk& trunk, const PieceHeader& piece) override;
  bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) override;
  bool has_begun(TeamId id, OpNumber op) override;
  void peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) override;
  void failed(TeamId id) override;
  void going(const Trunk& trunk) override;

  const Secret key_;
  const SystemClock clock_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable ended_;
  Core core_;
  std::optional<Star> star_;
  Work* work_ = nullptr;  ///< under way
  Fd wake_;
  bool stop_ = false;
  bool outstanding_ = false;  ///< acks may be due
  Nanoseconds moved_ = 0, settled_ = 0, stepped_ = 0;
  std::thread thread_;
};

}  // namespace nezha::test
