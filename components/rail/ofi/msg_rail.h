// SPDX-License-Identifier: BSD-3-Clause
/// One rail of libfabric by connected endpoints (FI_EP_MSG), with its listener, completion queue and event queue.
#pragma once

#include <rdma/fi_cm.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rail/ofi/ofi_rail.h"

namespace nezha {

class MsgPair;

/// What libfabric is handed for an operation and gives back with its completion.
struct MsgOperation {
  fi_context2 own;  ///< libfabric's; first, since its address is what is handed over
  MsgPair* pair;    ///< null: closed
  std::uint32_t slot;
};
using MsgOperations = std::unique_ptr<MsgOperation[]>;

class MsgRail final : public OfiRail {
 public:
  using OfiRail::OfiRail;

  Status open() override;
  Status connect(std::span<const std::byte> remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  bool may_sleep(Watch watch) override;
  Status descriptors(Watch watch, std::vector<int>& fds) const override;

 private:
  friend class MsgPair;

  static constexpr int kAtOnce = 32;
  static constexpr int kMostBatches = 4;  ///< in one poll()
  /// Of so many looks at completions one is at events, too, unless a sleep was between: that costs a system call of its own.
  static constexpr int kEventsEvery = 16;

  Status listen();
  bool poll_events(MessageArrivals& arrivals);
  void take_event(std::uint32_t event, fi_eq_cm_entry& entry, MessageArrivals& arrivals);
  bool poll_completions();
  void take_error();
  void take_event_error();
  void tell_shut_down();
  void break_pairs(const std::vector<fid_t>& endpoints, const Status& why);
  void break_all(const Status& why);
  MsgPair* pair_of(fid_t endpoint) const;

  Fid<fid_eq> events_;
  Fid<fid_cq> completions_;
  Fid<fid_pep> listener_;
  int unlooked_ = kEventsEvery;  ///< looks since the last one at events
  std::unordered_map<fid_t, MsgPair*> pairs_;  ///< those that are open: events may come for others
  std::vector<MsgOperations> retired_;         ///< of closed pairs: completions of theirs may still be in the queue
  std::vector<fid_t> shut_down_;               ///< by the other side; told after what came before
};

}  // namespace nezha
