// SPDX-License-Identifier: BSD-3-Clause
/// An aggregation service of a simulated world: a process without callers, on ports of its own, with misfortunes of its own.
/// It is killed and started again, stands still, and its ports go down or fall silent. It may be that of a rack, in a tree.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/aggregation/aggregation.h"
#include "process.h"
#include "waker.h"

namespace nezha::test {

class Service {
 public:
  /// The `index`-th of them. `unlucky`: something happens to it now and then.
  Service(World& world, std::size_t index, std::uint64_t seed, bool unlucky);
  ~Service();

  /// As Aggregators does it: `client` greets it, and anew when no lane to it has been up for a second. `known`: what the client has
  /// of it; null: it does not answer. `at`: when it is to be greeted, or counts as lost; in the network's time.
  void be_greeted(Core& client, Peer*& known, Nanoseconds& at);
  /// Its kernel closes its lanes.
  void kill();
  /// No misfortunes any more, and those that it has had are mended.
  void end();
  std::uint64_t operations() const;
  /// Of operations under way.
  std::uint64_t memory() const { return aggregation_->memory(); }

 private:
  bool in_rack() const;
  Peer* greet(Core& client);
  void note_who_has_come();
  void start();
  void wake();
  void look();
  void misfortune();
  void silence(bool silent);

  World& world_;
  const std::size_t index_;
  SimRandom random_;
  const Nanoseconds between_;  ///< two misfortunes, in the mean
  ProcessClock clock_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::unique_ptr<Core> core_;  ///< null: it is dead
  std::unique_ptr<Aggregation> aggregation_;
  SimTransport* transport_ = nullptr;
  std::map<ProcessId, Secret> greeted_;  ///< clients that have not come yet
  Peer* upstream_ = nullptr;  ///< null: none, or it does not answer
  Nanoseconds greet_at_ = 0;
  std::uint64_t lives_ = 0;
  std::uint64_t operations_before_ = 0;  ///< of earlier lives
  bool over_ = false;
  Nanoseconds paused_until_ = 0, moved_at_ = 0;
  bool outstanding_ = false;
  Waker waker_;
};

}  // namespace nezha::test
