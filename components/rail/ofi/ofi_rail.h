// SPDX-License-Identifier: BSD-3-Clause
/// One rail of libfabric: a domain of a provider, with its listener, completion queue and event queue.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/ofi/library.h"
#include "util/status.h"

namespace nezha {

class OfiPair;

/// What libfabric is handed for an operation and gives back with its completion.
struct OfiOperation {
  fi_context2 own;  ///< libfabric's; first, since its address is what is handed over
  OfiPair* pair;    ///< null: closed
  std::uint32_t slot;
};
using OfiOperations = std::unique_ptr<OfiOperation[]>;

class OfiRail {
 public:
  /// `number` is the kind's.
  OfiRail(const OfiLibrary& library, std::size_t number, OfiLibrary::Info info);
  ~OfiRail();
  OfiRail(const OfiRail&) = delete;
  OfiRail& operator=(const OfiRail&) = delete;

  /// Opens everything, listening at any of the provider's addresses.
  Status open();
  /// Where it listens, in the provider's format.
  const std::vector<std::byte>& address() const { return address_; }
  const fi_info& info() const { return *info_; }

  /// `remote` is in the provider's format. Null: there is no memory.
  std::unique_ptr<QueuePair> connect(std::span<const std::byte> remote);
  bool poll(Watch watch, MessageArrivals& arrivals);
  bool may_sleep(Watch watch);
  Status completions_fd(int& fd) const;
  Status events_fd(int& fd) const;

 private:
  friend class OfiPair;

  static constexpr std::size_t kCompletions = 8192;  ///< of all lanes of the rail
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
  OfiPair* pair_of(fid_t endpoint) const;

  const OfiLibrary& library_;
  const std::size_t number_;
  const OfiLibrary::Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_eq> events_;
  Fid<fid_cq> completions_;
  Fid<fid_pep> listener_;
  std::vector<std::byte> address_;
  int unlooked_ = kEventsEvery;  ///< looks since the last one at events
  std::unordered_map<fid_t, OfiPair*> pairs_;  ///< those that are open: events may come for others
  std::vector<OfiOperations> retired_;         ///< of closed pairs: completions of theirs may still be in the queue
  std::vector<fid_t> shut_down_;               ///< by the other side; told after what came before
};

}  // namespace nezha
