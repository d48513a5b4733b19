// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/channel.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "rail/message/pages.h"

namespace nezha {
namespace {

Status bad(const char* what) { return {Code::bad_wire, what}; }

}  // namespace

MessageChannel::MessageChannel(std::unique_ptr<QueuePair> pair, const MessageOptions& options, std::size_t memory,
                               const Clock& clock, ChannelNews& news)
    : pair_(std::move(pair)), options_(options), clock_(clock), news_(news), shares_(pair_->shared_receives() != 0),
      peer_receives_(options.least_slots), most_receives_(options.least_slots),
      told_receives_(options.least_slots), sizes_(kMostReceives), heard_at_(clock.now()) {
  const auto count = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(memory / options.slot, options.least_slots, kMostReceives));
  slots_.size = options.slot;
  slots_.receives = shares_ ? 0 : count;
  slots_.sends = count;
  const std::uint32_t all = slots_.receives + slots_.sends;
  slots_.owner = make_pages(all * options.slot);
  slots_.memory = {slots_.owner.get(), all * options.slot};
  for (std::uint32_t slot = all; slot-- > slots_.receives;) free_.push_back(slot);
  lent_.resize(count);
  waiting_.reserve(count);
}

Status MessageChannel::start(User& user) {
  user_ = &user;
  Status status = pair_->enroll(slots_, *this);
  for (std::uint32_t slot = 0; status.ok() && slot < slots_.receives; ++slot) status = pair_->post_receive(slot);
  if (status.ok()) status = pair_->start();
  if (!status.ok()) close();
  return status;
}

std::uint32_t MessageChannel::receives() const {
  return shares_ ? std::clamp(pair_->shared_receives(), options_.least_slots, slots_.sends) : slots_.receives;
}

void MessageChannel::connected() {
  if (state_ != State::open) return;
  connected_ = true;
  heard_at_ = clock_.now();
  post_again();
  if (state_ == State::open) user_->opened();
}

/// What is held has had room and credit when it was begun, and nothing is sent before it.
std::span<std::byte> MessageChannel::space() const {
  if (held_ != 0) return slots_.at(held_slot_).subspan(kMessageHeader + held_);
  if (state_ != State::open || free_.size() <= kReserved / 2 || under_way() + kReserved >= peer_receives_) return {};
  return slots_.at(free_.back()).subspan(kMessageHeader);
}

void MessageChannel::send(MessageType type, std::size_t body, Lent lent) {
  if (held_ == 0) {
    held_slot_ = free_.back();
    free_.pop_back();
  }
  const std::size_t size = held_ + body;
  if (type == MessageType::frames && news_.polling && lent.bytes.empty() && kMessageHeader + size < slots_.size) {
    if (held_ == 0) news_.holding.push_back(this);
    held_ = size;
    return;
  }
  held_ = 0;
  post(held_slot_, type, size, std::move(lent));
}

void MessageChannel::flush() {
  if (held_ != 0) post(held_slot_, MessageType::frames, std::exchange(held_, 0), {});
}

void MessageChannel::post(std::uint32_t slot, MessageType type, std::size_t body, Lent lent) {
  told_receives_ = receives();
  const MessageHeader header{type, wants_answer_, static_cast<std::uint16_t>(told_receives_),
                             static_cast<std::uint32_t>(received_), static_cast<std::uint32_t>(sent_)};
  write_message_header(slots_.at(slot).data(), header);
  told_ = received_;
  owed_bytes_ = 0;
  answer_ = false;
  sizes_[sent_ % kMostReceives] = static_cast<std::uint32_t>(body + lent.bytes.size());
  unacked_bytes_ += body + lent.bytes.size();
  ++sent_;
  sent_at_ = clock_.now();
  if (std::exchange(wants_answer_, false)) {
    asked_at_rest_ = unacked_bytes_ <= kAtRest;
    came_ = 0;
    asked_ = sent_;
    asked_at_ = sent_at_;
  }
  if (!lent.bytes.empty()) ++lendings_, lent_[slot - slots_.receives] = std::move(lent);
  const std::size_t size = kMessageHeader + body;
  if (!waiting_.empty() || !connected_ || !hand_over(slot, size)) {
    if (waiting_.empty() && connected_) news_.stuck.push_back(this);
    waiting_.push_back({slot, size});
  }
}

/// False: it has to wait.
bool MessageChannel::hand_over(std::uint32_t slot, std::size_t size) {
  const Lent& lent = lent_[slot - slots_.receives];
  switch (lent.bytes.empty() ? pair_->post_send(slot, size) : pair_->post_lent(slot, size, lent)) {
    case QueuePair::Posted::yes:
      return true;
    case QueuePair::Posted::copied:
      took_back(slot);
      return true;
    case QueuePair::Posted::later:
      return false;
    case QueuePair::Posted::failed:
      break;
  }
  fail({Code::io, "the transport refuses to send"});
  return true;
}

void MessageChannel::took_back(std::uint32_t slot) {
  free_.push_back(slot);
  Lent& lent = lent_[slot - slots_.receives];
  if (!lent.bytes.empty()) --lendings_, lent = {};
}

bool MessageChannel::reads(std::span<const std::byte> bytes) const {
  const auto meets = [&](const Lent& lent) {
    const std::less<> before;
    return before(lent.bytes.data(), bytes.data() + bytes.size()) && before(bytes.data(), lent.bytes.data() + lent.bytes.size());
  };
  return lendings_ != 0 && std::any_of(lent_.begin(), lent_.end(), meets);
}

void MessageChannel::post_again() {
  const std::size_t free = free_.size();
  std::size_t posted = 0;
  while (state_ == State::open && posted < waiting_.size() && hand_over(waiting_[posted].slot, waiting_[posted].size)) ++posted;
  if (state_ != State::open) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(posted));
  if (!waiting_.empty()) news_.stuck.push_back(this);
  if (free_.size() > free) {
    note_owing();
    user_->room();
  }
}

void MessageChannel::received(std::uint32_t slot, std::size_t size) {
  heard_at_ = clock_.now();
  if (state_ != State::open || !news_.admitting || !is_lane_) return take(slot, size);
  if (kept_.empty()) news_.keeping.push_back(this);
  kept_.push_back({slot, size});
}

void MessageChannel::deliver() {
  for (const auto& [slot, size] : std::exchange(kept_, {})) take(slot, size);
  if (ends_) fail(why_);
}

void MessageChannel::take(std::uint32_t slot, std::size_t size) {
  const std::uint64_t before = acked_;
  MessageHeader header;
  Status status = state_ == State::open ? examine(slot, size, header) : Status{};
  if (shares_ || (state_ == State::open && status.ok() && !ends_)) {
    Status posted = pair_->post_receive(slot);
    if (status.ok()) status = std::move(posted);
  }
  if (state_ != State::open) return;
  if (!status.ok()) return fail(std::move(status));
  ++received_;
  answer_ = answer_ || header.answer;
  if (header.type == MessageType::frames) owed_bytes_ += size;
  note_owing();
  if (acked_ != before) user_->room();
}

Status MessageChannel::examine(std::uint32_t slot, std::size_t size, MessageHeader& header) {
  const bool known = shares_ || slot < slots_.receives;
  const std::span<const std::byte> place = shares_ ? pair_->shared_slot(slot) : slots_.at(known ? slot : 0);
  if (!known || size > place.size()) return bad("a message longer than its memory");
  const std::span<const std::byte> message = place.first(size);
  came_ += size;
  Status status = read_message_header(message, header);
  if (status.ok() && header.number != static_cast<std::uint32_t>(received_)) status = bad("not the message that comes next");
  if (status.ok()) status = take_credit(header);
  return status.ok() ? user_->message(header.type, message.subspan(kMessageHeader)) : status;
}

Status MessageChannel::take_credit(const MessageHeader& header) {
  const auto more = static_cast<std::uint32_t>(header.received - static_cast<std::uint32_t>(acked_));
  if (more > under_way()) return bad("an acknowledgement of what was not sent");
  if (header.receives < options_.least_slots || header.receives > kMostReceives) return bad("an impossible number of receives");
  peer_receives_ = header.receives;
  most_receives_ = std::max(most_receives_, peer_receives_);
  for (std::uint32_t i = 0; i < more; ++i) unacked_bytes_ -= sizes_[acked_++ % kMostReceives];
  if (asked_ != 0 && acked_ >= asked_) {
    answered(std::max<Nanoseconds>(heard_at_ - asked_at_, 1));
    asked_ = 0;
  }
  return {};
}

void MessageChannel::answered(Nanoseconds took) {
  if (asked_at_rest_ && came_ <= kAtRest) least_answer_ = sooner(least_answer_, took);
  const bool first = mean_answer_ == 0;
  deviation_ = first ? took / 2 : (3 * deviation_ + std::abs(took - mean_answer_)) / 4;
  mean_answer_ = first ? took : (7 * mean_answer_ + took) / 8;
}

void MessageChannel::sent(std::uint32_t slot) {
  if (state_ != State::open) return;
  took_back(slot);
  note_owing();
  user_->room();
}

void MessageChannel::ask() {
  if (!may_ask()) return;
  wants_answer_ = true;
  send_credit();
}

void MessageChannel::ask_now_and_then() {
  if (!connected_ || !may_ask()) return;
  if (asked_at_ != 0 && clock_.now() - asked_at_ < options_.ask_after) return;
  wants_answer_ = true;
  note_owing();
}

/// Something is to be said that nothing has taken along: an answer, a question, or what has come. Half of the slots counts too, since the
/// other side's messages without contents use them up.
bool MessageChannel::owes() const {
  return answer_ || wants_answer_ || owed_bytes_ >= options_.ack_bytes || received_ - told_ >= std::min(told_receives_, receives()) / 2;
}

void MessageChannel::note_owing() {
  if (listed_ || !owes()) return;
  listed_ = true;
  news_.owing.push_back(this);
}

void MessageChannel::settle() {
  listed_ = false;
  if (state_ == State::open && owes()) send_credit();
}

/// Without a slot or a credit it waits for the next event, which brings one.
void MessageChannel::send_credit() {
  if (held_ != 0) return flush();
  if (free_.empty() || under_way() >= most_receives_) return;
  send(MessageType::credit, 0);
}

void MessageChannel::close() {
  if (state_ == State::open) flush();
  if (state_ == State::closed) return;
  state_ = State::closed;
  deliver();  // gives shared receives back
  lent_.clear();
  lendings_ = 0;
  for (auto* list : {&news_.holding, &news_.owing, &news_.stuck, &news_.broken, &news_.keeping}) std::erase(*list, this);
  pair_->close();
}

/// What is kept came before, and counts.
void MessageChannel::fail(Status why) {
  if (state_ != State::open) return;
  if (!kept_.empty()) {
    if (!std::exchange(ends_, true)) why_ = std::move(why);
    return;
  }
  state_ = State::broken;
  held_ = 0;
  why_ = std::move(why);
  pair_->close();
  news_.broken.push_back(this);
}

void MessageChannel::tell_broken() {
  const Status why = why_;
  close();
  user_->lost(why);
}

}  // namespace nezha
