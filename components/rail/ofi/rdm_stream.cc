// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/rdm_stream.h"

#include <rdma/fi_tagged.h>

#include <algorithm>
#include <new>
#include <string>

#include "rail/message/pages.h"
#include "rail/ofi/rdm_rail.h"

namespace nezha {
namespace {

std::shared_ptr<RdmWords> make_words() {
  const std::shared_ptr<std::byte[]> pages = make_pages(sizeof(RdmWords));
  return {pages, new (pages.get()) RdmWords{}};
}

}  // namespace

RdmStream::RdmStream(RdmRail& rail, std::uint64_t number, std::shared_ptr<RdmPeer> peer, std::uint64_t other)
    : rail_(rail), number_(number), peer_(std::move(peer)), other_(other), calls_(other == 0), greeting_(make_words()) {}

Status RdmStream::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  operations_ = std::make_unique<RdmOperation[]>(close_slot() + 1);
  for (std::uint32_t slot = 0; slot <= close_slot(); ++slot) {
    operations_[slot].stream = this;
    operations_[slot].slot = slot;
  }
  if (slots.size > rail_.info().ep_attr->max_msg_size)
    return {Code::io, "the provider has no messages of " + std::to_string(slots.size) + " bytes"};
  Status status = rail_.enroll(slots.memory, rail_.endpoint_.get(), memory_);
  if (status.ok()) status = rail_.enroll(*greeting_, rail_.endpoint_.get(), greeting_memory_);
  return status;
}

/// Events come from polls alone, so that one has to follow.
void RdmStream::start() {
  started_ = true;
  rail_.note(*this);
}

bool RdmStream::greet() {
  const std::size_t size =
      calls_ ? write_rdm_call(*greeting_, {number_, rail_.address()}) : write_rdm_answer(*greeting_, number_);
  bool copied = false;
  const long result = send(greeting_slot(), std::span(*greeting_).first(size), calls_ ? kCallTag : other_, greeting_memory_, copied);
  if (result == -FI_EAGAIN) return false;
  greeted_ = result == 0;
  if (!greeted_)
    broken(rail_.library_.error("fi_tsend", result));
  else if (!calls_)
    events_->connected();
  return true;
}

Status RdmStream::post_receive(std::uint32_t slot) {
  waiting_.push_back(slot);
  return post_waiting();
}

Status RdmStream::post_waiting() {
  short_of_room_ = false;
  while (!cancelled_ && !waiting_.empty() && posted_.size() < kMostPosted) {
    const std::uint32_t slot = waiting_.front();
    const std::span<std::byte> to = slots_.at(slot);
    const long result = fi_trecv(rail_.endpoint_.get(), to.data(), to.size(), descriptor_of(memory_),
                                 rail_.directed() ? peer_->address : FI_ADDR_UNSPEC, number_, 0, &operations_[slot].own);
    short_of_room_ = result == -FI_EAGAIN;
    if (short_of_room_) rail_.note_for_later(*this);
    if (result != 0) return short_of_room_ ? Status{} : rail_.library_.error("fi_trecv", result);
    ++under_way_;
    waiting_.pop_front();
    posted_.push_back({slot, kOpen});
  }
  return {};
}

QueuePair::Posted RdmStream::post_send(std::uint32_t slot, std::size_t size) {
  bool copied = false;
  const long result = send(slot, slots_.at(slot).first(size), other_, memory_, copied);
  if (result == 0) return copied ? QueuePair::Posted::copied : QueuePair::Posted::yes;
  return result == -FI_EAGAIN ? QueuePair::Posted::later : QueuePair::Posted::failed;
}

long RdmStream::send(std::uint32_t slot, std::span<const std::byte> message, std::uint64_t tag, const Fid<fid_mr>& memory,
                     bool& copied) {
  fid_ep* endpoint = rail_.endpoint_.get();
  const std::size_t most = rail_.info().tx_attr->inject_size;
  copied = most != 0 && message.size() <= most;
  const long result = copied ? fi_tinject(endpoint, message.data(), message.size(), peer_->address, tag)
                             : fi_tsend(endpoint, message.data(), message.size(), descriptor_of(memory), peer_->address, tag,
                                        &operations_[slot].own);
  if (result != 0) return result;
  if (!copied) ++under_way_;
  rail_.expect();
  return 0;
}

void RdmStream::completed(std::uint32_t slot, std::size_t size) {
  --under_way_;
  if (slot < slots_.receives)
    received(slot, size);
  else if (events_ != nullptr && slot < greeting_slot())
    events_->sent(slot);
  if (over()) rail_.note(*this);
}

void RdmStream::received(std::uint32_t slot, std::size_t size) {
  const auto receive = std::find_if(posted_.begin(), posted_.end(), [&](const Receive& each) { return each.slot == slot; });
  if (receive != posted_.end()) receive->size = size;
  while (!posted_.empty() && posted_.front().size != kOpen) {
    const Receive first = posted_.front();
    posted_.pop_front();
    deliver(first.slot, first.size);
  }
  if (const Status status = post_waiting(); !status.ok()) broken(status);
}

void RdmStream::deliver(std::uint32_t slot, std::size_t size) {
  if (size == 0) return heard_close();
  if (other_ == 0) return take_answer(slot, size);
  if (events_ != nullptr) return events_->received(slot, size);
  waiting_.push_back(slot);
}

/// Nothing follows, so that the receive is not posted again.
void RdmStream::heard_close() {
  heard_close_ = true;
  if (events_ != nullptr) events_->broken({Code::closed, "the other side closed the connection"});
  rail_.note(*this);
}

void RdmStream::take_answer(std::uint32_t slot, std::size_t size) {
  Status status = read_rdm_answer(slots_.at(slot).first(size), other_);
  if (status.ok() && !greeted_) status = {Code::bad_wire, "an answer to nothing"};
  if (!status.ok()) return broken(status);
  waiting_.push_back(slot);
  if (events_ != nullptr)
    events_->connected();
  else
    rail_.note(*this);
}

void RdmStream::failed(std::uint32_t slot, const Status& why) {
  --under_way_;
  std::erase_if(posted_, [&](const Receive& each) { return each.slot == slot; });
  if (!cancelled_) broken(why);
  if (over()) rail_.note(*this);
}

/// Of a pair that is closed already nobody has to hear.
void RdmStream::broken(const Status& why) {
  if (events_ != nullptr)
    events_->broken(why);
  else
    cancel();
}

bool RdmStream::look() {
  bool any = greets() && greet();
  if (says_close()) say_close();
  if (const Status status = post_waiting(); !status.ok()) broken(status);
  if (closed_ && said_close_ && (heard_close_ || !started_)) cancel();
  return any;
}

/// The other end waits for it, but may be gone.
void RdmStream::say_close() {
  bool copied = false;
  const long result = send(close_slot(), std::span(*greeting_).first(0), other_, greeting_memory_, copied);
  said_close_ = result == 0;
  if (!said_close_ && (result != -FI_EAGAIN || ++tries_ == kMostTries)) cancel();
}

void RdmStream::close() {
  closed_ = true;
  events_ = nullptr;
  const bool unheard_of = calls_ && !greeted_;
  if (unheard_of || !operations_) cancel();
  rail_.leaves(*this);
}

void RdmStream::cancel() {
  if (std::exchange(cancelled_, true)) return;
  waiting_.clear();
  short_of_room_ = false;
  for (const Receive& each : posted_)
    if (each.size == kOpen) fi_cancel(&rail_.endpoint_->fid, &operations_[each.slot].own);
  rail_.note(*this);
}

}  // namespace nezha
