// SPDX-License-Identifier: BSD-3-Clause
/// One connected endpoint of libfabric (FI_EP_MSG).
#pragma once

#include "rail/ofi/msg_rail.h"

namespace nezha {

class MsgPair final : public QueuePair {
 public:
  /// `info` says to whom: an address, or a request that came in, which is then accepted.
  MsgPair(MsgRail& rail, OfiLibrary::Info info, bool accepts) : rail_(rail), info_(std::move(info)), accepts_(accepts), refusable_(accepts) {}
  ~MsgPair() override { close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override;
  Status start() override;
  Status post_receive(std::uint32_t slot) override;
  Posted post_send(std::uint32_t slot, std::size_t size) override;
  void close() override;

  void connected() { events_->connected(); }
  void completed(std::uint32_t slot, std::uint64_t flags, std::size_t size);
  void broken(const Status& why) { events_->broken(why); }
  fid_t endpoint() const { return &endpoint_->fid; }

 private:
  Status open();

  MsgRail& rail_;
  OfiLibrary::Info info_;
  const bool accepts_;
  bool refusable_;  ///< a request that no endpoint has been made for
  Slots slots_;
  QueuePairEvents* events_ = nullptr;
  MsgOperations operations_;
  Fid<fid_mr> memory_;  ///< null where the provider wants none
  Fid<fid_ep> endpoint_;
};

}  // namespace nezha
