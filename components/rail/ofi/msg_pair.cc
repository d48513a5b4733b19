// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/msg_pair.h"

#include <algorithm>
#include <utility>

namespace nezha {

Status MsgPair::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  const std::uint32_t count = slots.receives + slots.sends;
  operations_ = std::make_unique<MsgOperation[]>(count);
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    operations_[slot].pair = this;
    operations_[slot].slot = slot;
  }
  if (Status status = open(); !status.ok()) return status;
  return rail_.enroll(slots.memory, endpoint_.get(), memory_);
}

Status MsgPair::open() {
  const OfiLibrary& library = rail_.library_;
  // Providers set aside so many completions of the queue that the rail's endpoints share, by default hundreds for each.
  info_->rx_attr->size = std::min<std::size_t>(info_->rx_attr->size, slots_.receives);
  info_->tx_attr->size = std::min<std::size_t>(info_->tx_attr->size, slots_.sends);
  fid_ep* endpoint = nullptr;
  long result = fi_endpoint(rail_.domain_.get(), info_.get(), &endpoint, this);
  if (result != 0) return library.error("fi_endpoint", result);
  endpoint_.reset(endpoint);
  refusable_ = false;
  rail_.pairs_[&endpoint->fid] = this;
  result = fi_ep_bind(endpoint, &rail_.events_->fid, 0);
  if (result == 0) result = fi_ep_bind(endpoint, &rail_.completions_->fid, FI_TRANSMIT | FI_RECV);
  if (result != 0) return library.error("fi_ep_bind", result);
  result = fi_enable(endpoint);
  return result == 0 ? Status{} : library.error("fi_enable", result);
}

Status MsgPair::start() {
  const long result = accepts_ ? fi_accept(endpoint_.get(), nullptr, 0)
                               : fi_connect(endpoint_.get(), info_->dest_addr, nullptr, 0);
  return result == 0 ? Status{} : rail_.library_.error(accepts_ ? "fi_accept" : "fi_connect", result);
}

Status MsgPair::post_receive(std::uint32_t slot) {
  const std::span<std::byte> to = slots_.at(slot);
  const long result = fi_recv(endpoint_.get(), to.data(), to.size(), descriptor_of(memory_), 0, &operations_[slot].own);
  return result == 0 ? Status{} : rail_.library_.error("fi_recv", result);
}

QueuePair::Posted MsgPair::post_send(std::uint32_t slot, std::size_t size) {
  const bool copied = size <= info_->tx_attr->inject_size;
  const void* from = slots_.at(slot).data();
  const long result = copied ? fi_inject(endpoint_.get(), from, size, 0)
                             : fi_send(endpoint_.get(), from, size, descriptor_of(memory_), 0, &operations_[slot].own);
  if (result == 0) return copied ? Posted::copied : Posted::yes;
  return result == -FI_EAGAIN ? Posted::later : Posted::failed;
}

void MsgPair::completed(std::uint32_t slot, std::uint64_t flags, std::size_t size) {
  if ((flags & FI_RECV) != 0)
    events_->received(slot, size);
  else
    events_->sent(slot);
}

/// A closed endpoint neither reads nor writes memory any more; it need not be waited for.
void MsgPair::close() {
  if (std::exchange(refusable_, false)) fi_reject(rail_.listener_.get(), info_->handle, nullptr, 0);
  if (!operations_) return;
  if (endpoint_) {
    rail_.pairs_.erase(endpoint());
    std::erase(rail_.shut_down_, endpoint());  // the next endpoint may lie there
  }
  endpoint_.reset();
  memory_.reset();
  for (std::uint32_t slot = 0; slot < slots_.receives + slots_.sends; ++slot) operations_[slot].pair = nullptr;
  rail_.retired_.push_back(std::move(operations_));
}

}  // namespace nezha
