// SPDX-License-Identifier: BSD-3-Clause
#include "rail/btl/btl_pair.h"

#include <algorithm>
#include <utility>

#include "rail/btl/btl_kind.h"

namespace nezha {

Status BtlPair::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  open_ = true;
  kind_.opened(*this);
  return {};
}

Status BtlPair::start() {
  kind_.introduce_later(*this);
  return {};
}

Status BtlPair::post_receive(std::uint32_t slot) {
  posted_.push_back(slot);
  return {};
}

BtlHead BtlPair::head(BtlType type) const { return kind_.head(type, rail_, other_, number_); }

QueuePair::Posted BtlPair::post_send(std::uint32_t slot, std::size_t size) {
  switch (kind_.send(head(BtlType::data), rank_, slots_.at(slot).first(size))) {
    case HostMessages::Taken::yes:
      if (sent_.empty()) kind_.tell_later(*this);
      sent_.push_back(slot);
      return Posted::yes;
    case HostMessages::Taken::later:
      return Posted::later;
    case HostMessages::Taken::never:
      break;
  }
  return Posted::failed;
}

bool BtlPair::introduce() {
  switch (kind_.send(head(calls_ ? BtlType::call : BtlType::answer), rank_, {})) {
    case HostMessages::Taken::later:
      return false;
    case HostMessages::Taken::never:
      events_->broken({Code::io, "Open MPI has no byte transfer layer to that process by this number"});
      return true;
    case HostMessages::Taken::yes:
      introduced_ = true;
      if (!calls_) events_->connected();
      return true;
  }
  return true;
}

void BtlPair::take(const BtlHead& head, std::span<const std::byte> body) {
  if (head.rank != rank_ || head.rail != kind_.module(rail_) || (other_ != 0 && head.from != other_)) return;  // not its peer's
  if (head.type == BtlType::close) {
    introduced_ = kind_.closes_both();  // usually there is nobody to tell
    return events_->broken({Code::closed, "the other side has closed the connection"});
  }
  if (head.type == BtlType::answer && other_ == 0) {
    other_ = head.from;
    return events_->connected();
  }
  if (head.type != BtlType::data || other_ == 0 || posted_.empty() || body.size() > slots_.size)
    return events_->broken({Code::bad_wire, "a message that was not due"});
  const std::uint32_t slot = posted_.front();
  posted_.pop_front();
  std::copy(body.begin(), body.end(), slots_.at(slot).begin());
  events_->received(slot, body.size());
}

void BtlPair::tell_sent() {
  for (const std::uint32_t slot : std::exchange(sent_, {})) {
    if (!open_) return;
    events_->sent(slot);
  }
}

void BtlPair::close() {
  if (!std::exchange(open_, false)) return;
  kind_.closed(*this, introduced_ ? head(BtlType::close) : BtlHead{}, rank_);
}

}  // namespace nezha
