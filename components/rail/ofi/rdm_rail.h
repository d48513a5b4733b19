// SPDX-License-Identifier: BSD-3-Clause
/// One rail of libfabric by an endpoint without connections (FI_EP_RDM), for all of its pairs: they are told apart by tags. A
/// pair begins with a call, for which the rail keeps receives posted.
#pragma once

#include <rdma/fi_domain.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "rail/ofi/ofi_rail.h"
#include "rail/ofi/poll_timer.h"
#include "rail/ofi/rdm_addresses.h"
#include "rail/ofi/rdm_stream.h"
#include "rail/ofi/rdm_wire.h"

namespace nezha {

class RdmRail final : public OfiRail {
 public:
  using OfiRail::OfiRail;
  ~RdmRail() override;

  Status open() override;
  Status connect(std::span<const std::byte> remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  bool may_sleep(Watch watch) override;
  /// Calls are messages like all others, so that everything is in those for connections.
  Status descriptors(Watch watch, std::vector<int>& fds) const override;

  std::size_t streams() const { return streams_.size(); }
  std::size_t addresses() const { return addresses_ ? addresses_->size() : 0; }

 private:
  friend class RdmStream;

  static constexpr std::uint32_t kCalls = 16;  ///< receives posted for them
  static constexpr std::size_t kMostLeaving = 16;  ///< streams whose other end has not said close; beyond, the oldest is dropped
  static constexpr int kAtOnce = 32;
  static constexpr int kMostBatches = 4;  ///< in one poll()
  static constexpr int kLastLooks = 100;  ///< for what streams have to say at the end

  // ---- for the streams
  bool directed() const { return (info_->caps & FI_DIRECTED_RECV) != 0; }
  void expect() { timer_.expect(); }
  /// It has something to do at the next poll, which comes soon.
  void note(RdmStream& stream);
  /// It has to be looked at again when there may be room.
  void note_for_later(RdmStream& stream);
  /// It is closed.
  void leaves(RdmStream& stream);

  Status open_completions();
  Status open_endpoint();
  void bind_events();
  Status post_calls();
  std::span<std::byte> call(std::uint32_t slot) { return {&call_memory_[slot * kMostRdmCall], kMostRdmCall}; }
  Status add(std::span<const std::byte> remote, std::uint64_t other, RdmStream*& made);
  /// Null `arrivals`: calls are not taken any more.
  bool poll_completions(MessageArrivals* arrivals);
  void take(const fi_cq_msg_entry& done, MessageArrivals* arrivals);
  void take_error();
  void poll_events();
  void break_streams(const Status& why);
  void take_call(std::span<const std::byte> message, MessageArrivals& arrivals);
  bool look_after_streams();
  void forget(RdmStream& stream);

  Fid<fid_cq> completions_;
  bool wakes_ = false;  ///< the queue has a descriptor
  PollTimer timer_;     ///< where it has none, or something had no room
  std::vector<int> fds_;
  Fid<fid_av> vector_;
  std::unique_ptr<RdmAddresses> addresses_;
  Fid<fid_eq> events_;  ///< what befalls the endpoint as a whole; null: the provider takes none
  Fid<fid_ep> endpoint_;
  std::shared_ptr<std::byte[]> call_memory_;
  Fid<fid_mr> call_region_;
  std::array<RdmOperation, kCalls> call_operations_{};
  std::vector<std::uint32_t> calls_to_post_;
  std::map<std::uint64_t, std::unique_ptr<RdmStream>> streams_;  ///< by number
  std::vector<RdmStream*> noted_, leaving_;
  bool soon_ = false;  ///< some were noted since the last look at them
};

}  // namespace nezha
