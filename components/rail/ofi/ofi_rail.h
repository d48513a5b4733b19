// SPDX-License-Identifier: BSD-3-Clause
/// One rail of libfabric: a domain of a provider. What rails by connected endpoints (msg_rail.h) and by endpoints without
/// connections (rdm_rail.h) have in common.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/ofi/library.h"
#include "util/status.h"

namespace nezha {

class OfiRail {
 public:
  /// `number` is the kind's.
  OfiRail(const OfiLibrary& library, std::size_t number, OfiLibrary::Info info);
  virtual ~OfiRail() = default;
  OfiRail(const OfiRail&) = delete;
  OfiRail& operator=(const OfiRail&) = delete;

  /// Opens everything, at any of the provider's addresses.
  virtual Status open() = 0;
  /// Where peers reach it, in the provider's format.
  const std::vector<std::byte>& address() const { return address_; }
  const fi_info& info() const { return *info_; }

  /// `remote` is one that fits().
  virtual Status connect(std::span<const std::byte> remote, std::unique_ptr<QueuePair>& made) = 0;
  /// As those of MessageKind.
  virtual bool poll(Watch watch, MessageArrivals& arrivals) = 0;
  virtual bool may_sleep(Watch watch) = 0;
  virtual Status descriptors(Watch watch, std::vector<int>& fds) const = 0;

 protected:
  static constexpr std::size_t kCompletions = 8192;  ///< of all lanes of the rail

  Status open_domain();
  Status open_events(fi_wait_obj wait, Fid<fid_eq>& queue) const;
  Status open_completions(fi_wait_obj wait, Fid<fid_cq>& queue) const;
  /// The address of an object that has one becomes the rail's.
  Status take_address(fid_t of);
  template <typename Object>
  Status add_descriptor(Object* object, std::vector<int>& fds) const {
    int fd = -1;
    const long result = fi_control(&object->fid, FI_GETWAIT, &fd);
    if (result != 0) return library_.error("FI_GETWAIT", result);
    fds.push_back(fd);
    return {};
  }
  /// Whether one may sleep as fi_trywait() has answered. An error that `pairs` have to be told wakes instead; without any it is of no
  /// consequence, and would keep a core busy for good.
  bool may_wait(long answer, bool pairs);
  /// As fi_cq_read() has answered, by less than an entry.
  void note_queue(long answer);
  /// `made` stays null where the provider wants no memory registered.
  Status enroll(std::span<std::byte> memory, fid_ep* endpoint, Fid<fid_mr>& made) const;

  const OfiLibrary& library_;
  const std::size_t number_;
  const OfiLibrary::Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  std::vector<std::byte> address_;
  Status trouble_;  ///< of a queue of the rail, not yet told to its pairs
};

/// What sends and receives are handed for memory.
inline void* descriptor_of(const Fid<fid_mr>& memory) { return memory ? fi_mr_desc(memory.get()) : nullptr; }

}  // namespace nezha
