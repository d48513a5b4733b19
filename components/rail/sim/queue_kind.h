// SPDX-License-Identifier: BSD-3-Clause
/// The RDMA rails of one simulated process, under rail/message's transport.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/sim/network.h"
#include "rail/sim/queue_pair.h"
#include "util/fd.h"

namespace nezha {

class SimQueueKind;

/// What the processes of a network share. Outlives them, and all events of the network.
struct SimQueueFabric {
  SimNetwork& network;
  SimQueueOptions options;
  std::map<ProcessId, SimQueueKind*> kinds;
};

/// The receives of a process whose pairs share them.
struct SimSharedReceives {
  std::vector<std::vector<std::byte>> slots;
  std::deque<std::uint32_t> posted;
  std::size_t promised = 0;  ///< to messages that have arrived, and whose completions nobody has seen
};

class SimQueueKind final : public MessageKind {
 public:
  /// `on_work` is called when poll() has something to do. The ports outlive all events of the network.
  SimQueueKind(SimQueueFabric& fabric, ProcessId self, std::vector<SimPort*> ports, std::function<void()> on_work);
  ~SimQueueKind() override;

  std::span<const RailAddress> rails() const override { return rails_; }
  std::string where(const RailAddress& rail) const override;
  Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  int fd(Watch watch) const override { return (watch == Watch::all ? completions_ : connections_).get(); }
  bool may_sleep(Watch watch) override;

  // ---- faults
  std::size_t pairs() const { return pairs_.size(); }
  void break_pair(std::size_t index) { pairs_[index]->break_off("a simulated error", false); }
  /// All of them lose their connections, and the far ends are told nothing.
  void forget_pairs(const SimPort& port);

 private:
  friend class SimQueuePair;

  SimNetwork& network() const { return fabric_.network; }
  const SimQueueOptions& options() const { return fabric_.options; }
  Nanoseconds delay(const SimQueueRequest& request) const;
  void ask(const SimQueueRequest& request);
  void share(std::size_t slot);
  void post_shared(std::uint32_t slot);
  void take_back(std::size_t promises);
  void ring();
  void ring(Watch watch);
  void calm(Watch watch);
  bool& rung(Watch watch) { return rung_[watch == Watch::all ? 0 : 1]; }
  bool ready(bool all) const;

  SimQueueFabric& fabric_;
  const ProcessId self_;
  const std::vector<SimPort*> ports_;
  const std::function<void()> on_work_;
  std::vector<RailAddress> rails_;
  std::vector<SimQueuePair*> pairs_;  ///< that are not closed
  std::deque<SimQueueRequest> requests_;
  SimSharedReceives shared_;
  Fd completions_, connections_;  ///< readable while there is something to do
  std::array<bool, 2> rung_{};    ///< fd(Watch::all), fd(Watch::rare) are readable
};

}  // namespace nezha
