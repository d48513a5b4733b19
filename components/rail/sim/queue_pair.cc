// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/queue_pair.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "rail/sim/queue_kind.h"
#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::size_t kLength = sizeof(std::uint32_t);  ///< in front of each message
constexpr std::byte kGarbage{0xdd};
constexpr double kPart = 0.1;

/// As a NIC reads, which does not mind whether anybody still has the memory.
void append_as_found(std::vector<std::byte>& to, std::span<const std::byte> from) {
  const std::size_t size = to.size();
  to.resize(size + from.size(), kGarbage);
  iovec there{const_cast<std::byte*>(from.data()), from.size()}, here{to.data() + size, from.size()};
  if (!from.empty()) syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL);
}

}  // namespace

SimQueuePair::SimQueuePair(SimQueueKind& kind, SimQueueRequest request, bool accepts)
    : kind_(kind), network_(kind.network()), request_(std::move(request)), accepts_(accepts) {
  kind_.pairs_.push_back(this);
}

Status SimQueuePair::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  kind_.share(slots.size);
  return {};
}

Status SimQueuePair::start() {
  if (!accepts_) {
    request_.there = std::make_shared<SimStream>(network_, *request_.asking, *request_.asked);
    request_.back = std::make_shared<SimStream>(network_, *request_.asked, *request_.asking);
    request_.accepted = [this, there = std::weak_ptr(there_)] {
      if (there.expired()) return;
      up_ = true;
      kind_.ring();
    };
    kind_.ask(request_);
  }
  out_ = accepts_ ? request_.back : request_.there;
  in_ = accepts_ ? request_.there : request_.back;
  out_->writer = this;
  in_->reader = this;
  if (!accepts_) return {};
  up_ = true;
  kind_.ring();
  network_.after(kind_.delay(request_), [&network = network_, request = request_] {
    if (network.passes(*request.asked, *request.asking)) request.accepted();
  });
  return {};
}

Status SimQueuePair::post_receive(std::uint32_t slot) {
  if (kind_.options().shared != 0) return kind_.post_shared(slot), Status{};
  std::fill(slots_.at(slot).begin(), slots_.at(slot).end(), kGarbage);
  posted_.push_back(slot);
  return {};
}

std::uint32_t SimQueuePair::shared_receives() const {
  const std::uint32_t all = kind_.options().shared;
  return all == 0 ? 0 : std::max(all / static_cast<std::uint32_t>(std::max<std::size_t>(kind_.pairs_.size(), 1)), 1U);
}

std::span<const std::byte> SimQueuePair::shared_slot(std::uint32_t slot) const { return kind_.shared_.slots.at(slot); }

Lent SimQueuePair::lend(std::span<const std::byte> bytes, std::size_t reach) {
  if (reach < bytes.size()) network_.violation("memory that is in use is said to be less than what is to be sent");
  if (!network_.random().chance(kind_.options().lends)) return {};
  return {network_.random().chance(kPart) ? bytes.first(1 + network_.random().below(bytes.size())) : bytes, nullptr};
}

QueuePair::Posted SimQueuePair::post_lent(std::uint32_t slot, std::size_t size, const Lent& lent) {
  if (network_.random().chance(kind_.options().put_off)) return Posted::later;
  const std::span<const std::byte> message = slots_.at(slot).first(size);
  if (size + lent.bytes.size() > slots_.size) network_.violation("a message longer than the memory that it goes to");
  sends_.push_back({slot, {message.begin(), message.end()}, lent.bytes});
  after(late(), [this] { transmit(); });
  return Posted::yes;
}

void SimQueuePair::close() {
  if (std::exchange(closed_, true)) return;
  there_.reset();
  std::erase(kind_.pairs_, this);
  kind_.take_back(arrived_.size());
  if (out_ == nullptr && accepts_) {
    request_.back->end();
    request_.there->abandon();
  }
  if (out_ == nullptr) return;
  out_->writer = nullptr;
  in_->abandon();
  out_->end();
}

void SimQueuePair::break_off(const char* why, bool silently) {
  if (closed_ || broken_ || out_ == nullptr) return;
  if (silently) out_->cut(), in_->cut();
  else out_->abort();
  broken_ = true;
  why_ = why;
  kind_.ring();
}

void SimQueuePair::after(Nanoseconds delay, std::function<void()> what) {
  network_.after(delay, [there = std::weak_ptr(there_), what = std::move(what)] {
    if (!there.expired()) what();
  });
}

Nanoseconds SimQueuePair::late() { return network_.random().between(0, kind_.options().latest); }

void SimQueuePair::stream_changed() {
  if (closed_ || broken_) return;
  transmit();
  answered();
  receive();
  if (in_->ended()) kind_.ring();
}

/// The NIC reads memory and sends, as far as there is room.
void SimQueuePair::transmit() {
  while (up_ && !broken_ && !sends_.empty() && out_->room() != 0) {
    Send send = std::move(sends_.front());
    sends_.pop_front();
    const std::span<const std::byte> slot = slots_.at(send.slot).first(send.message.size());
    if (!std::equal(slot.begin(), slot.end(), send.message.begin()))
      network_.violation("a message has changed before its NIC has read it");
    std::vector<std::byte>& message = send.message;
    append_as_found(message, send.lent);
    if (out_->under_way() == 0) waiting_since_ = network_.now();
    std::byte length[kLength];
    store_le<std::uint32_t>(length, static_cast<std::uint32_t>(message.size()));
    out_->write(length, kLength);
    out_->write(message.data(), message.size());
    sent_.push_back({send.slot, written_ += kLength + message.size()});
    watch_answers();
  }
}

void SimQueuePair::answered() {
  for (; !sent_.empty() && sent_.front().end <= out_->answered(); sent_.pop_front()) {
    after(late(), [this, slot = sent_.front().slot] {
      done_.push_back(slot);
      kind_.ring();
    });
  }
}

void SimQueuePair::receive() {
  if (closed_ || broken_ || in_ == nullptr) return;
  const std::size_t size = assembly_.size(), more = in_->available();
  if (more != 0) {
    assembly_.resize(size + more);
    in_->read(assembly_.data() + size, more);
  }
  while (take_message()) {}
}

bool SimQueuePair::take_message() {
  if (assembly_.size() < kLength) return false;
  const std::size_t size = load_le<std::uint32_t>(assembly_.data());
  if (assembly_.size() < kLength + size) return false;
  const auto begin = assembly_.begin() + kLength, end = begin + static_cast<std::ptrdiff_t>(size);
  const bool shared = kind_.options().shared != 0;
  if (shared && kind_.shared_.promised >= kind_.shared_.posted.size()) return false;
  if ((!shared && arrived_.size() >= posted_.size()) || size > slots_.size) network_.violation("a message that no receive is posted for");
  const Nanoseconds seen = std::max(network_.now() + late(), arrived_.empty() ? 0 : arrived_.back().seen);
  arrived_.push_back({seen, {begin, end}});
  kind_.shared_.promised += shared ? 1 : 0;  // what still waits in assembly_ when the connection ends is lost with its NIC
  assembly_.erase(assembly_.begin(), end);
  after(seen - network_.now(), [this] { kind_.ring(); });
  return true;
}

void SimQueuePair::watch_answers() {
  const Nanoseconds patience = kind_.options().patience;
  if (patience == 0 || watching_) return;
  watching_ = true;
  after(patience, [this, patience] {
    watching_ = false;
    if (broken_ || out_->under_way() == 0) return;
    if (network_.now() - std::max(waiting_since_, out_->answered_at()) >= patience) return break_off("retries exceeded", false);
    watch_answers();
  });
}

bool SimQueuePair::ready(bool all) const {
  if (closed_ || out_ == nullptr) return false;
  const bool seen = !arrived_.empty() && arrived_.front().seen <= network_.now();
  if (broken_ || up_ != told_up_ || (in_->ended() && (seen || arrived_.empty()))) return true;
  return all && up_ && (seen || !done_.empty());
}

bool SimQueuePair::poll(bool all) {
  if (!ready(all)) return false;
  if (broken_) {
    events_->broken({Code::io, why_});
  } else if (up_ && !told_up_) {
    told_up_ = true;
    events_->connected();
  } else if (!deliver()) {
    events_->broken({Code::closed, "the other side has closed the connection"});
  }
  return true;
}

/// Where the message now lies.
std::uint32_t SimQueuePair::place(std::span<const std::byte> message) {
  SimSharedReceives& shared = kind_.shared_;
  const bool own = kind_.options().shared == 0;
  std::deque<std::uint32_t>& posted = own ? posted_ : shared.posted;
  const std::uint32_t slot = posted.front();
  posted.pop_front();
  if (!own) --shared.promised;
  const std::span<std::byte> to = own ? slots_.at(slot) : std::span(shared.slots.at(slot));
  std::copy(message.begin(), message.end(), to.begin());
  return slot;
}

/// One completion. False: there is none to be seen.
bool SimQueuePair::deliver() {
  const bool message = !arrived_.empty() && arrived_.front().seen <= network_.now();
  if (message && (done_.empty() || network_.random().chance(0.5))) {
    const std::vector<std::byte> bytes = std::move(arrived_.front().message);
    arrived_.pop_front();
    const std::uint32_t slot = place(bytes);
    events_->received(slot, bytes.size());
    return true;
  }
  if (done_.empty()) return false;
  const std::size_t which = network_.random().below(done_.size());
  const std::uint32_t slot = std::exchange(done_[which], done_.back());
  done_.pop_back();
  events_->sent(slot);
  return true;
}

}  // namespace nezha
