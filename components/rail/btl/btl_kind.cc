// SPDX-License-Identifier: BSD-3-Clause
#include "rail/btl/btl_kind.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::size_t kPlace = sizeof(std::uint32_t);
/// Closings that nobody may say because only the service thread was here; beyond, peers find out by themselves.
constexpr std::size_t kMostLast = 1024;

}  // namespace

MessageOptions btl_options(std::size_t first_rail) {
  MessageOptions options;
  options.first_rail = first_rail;
  options.slot = 32 * 1024 - 512;  // Open MPI's shared memory takes 32 KiB with its own header
  options.answer_time = 0;         // nobody answers while the other process computes
  options.admission_time = options.handshake_timeout = 30 * kSecond;
  return options;
}

BtlKind::BtlKind(HostMessages& messages, std::vector<std::uint8_t> modules, std::uint32_t job_rank)
    : messages_(messages), modules_(std::move(modules)), job_rank_(job_rank) {
  for (const std::uint8_t module : modules_) {
    RailAddress& address = addresses_.emplace_back();
    address.transport = kBtl;
    address.name = std::to_string(module);
    address.network = {static_cast<std::byte>(module)};
    address.place.resize(kPlace);
    store_le<std::uint32_t>(address.place.data(), job_rank);
  }
}

Status BtlKind::open() {
  all_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  rare_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return all_ && rare_ ? Status{} : Status{Code::io, "no descriptor for btl rails"};
}

std::string BtlKind::where(const RailAddress& rail) const {
  return rail.place.size() == kPlace ? "rank " + std::to_string(load_le<std::uint32_t>(rail.place.data())) : "no rank";
}

Status BtlKind::connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) {
  if (ending_) return {Code::closed, "the job ends"};
  if (remote.place.size() != kPlace) return {Code::bad_peer, "the other side's address is no rank"};
  made = std::make_unique<BtlPair>(*this, rail, load_le<std::uint32_t>(remote.place.data()), ++last_number_, 0);
  return {};
}

HostMessages::Taken BtlKind::send(const BtlHead& head, std::uint32_t rank, std::span<const std::byte> body) {
  if (!messages_.may_send()) return HostMessages::Taken::later;
  return messages_.send(head.rail, rank, write_btl_head(head), body);
}

void BtlKind::closed(const BtlPair& pair, const BtlHead& last, std::uint32_t rank) {
  pairs_.erase(pair.number());
  if (last.from == 0) return;
  if (parting_ || last_.size() < kMostLast) last_.push_back({last, rank});
  if (parting_) awaited_.push_back({last, rank});
}

BtlPair* BtlKind::find(std::uint64_t number) const {
  const auto found = pairs_.find(number);
  return found == pairs_.end() ? nullptr : found->second;
}

BtlPair* BtlKind::receiver_of(const BtlHead& head) const {
  if (head.to != 0) return find(head.to);
  const auto found = std::find_if(pairs_.begin(), pairs_.end(),
                                  [&](const auto& each) { return each.second->was_called(head.rank, head.from); });
  return found == pairs_.end() ? nullptr : found->second;
}

bool BtlKind::poll(Watch, MessageArrivals& arrivals) {
  if (!messages_.may_send()) return false;  // what came waits, too: its answers could not go
  say_last();
  bool any = introduce();
  std::vector<HostMessages::Message> came = messages_.take();
  for (const HostMessages::Message& message : came) take(message, arrivals);
  any |= !came.empty() || !to_tell_.empty();
  messages_.give_back(std::move(came));
  for (const std::uint64_t number : std::exchange(to_tell_, {}))
    if (BtlPair* pair = find(number)) pair->tell_sent();
  return any;
}

/// By the number here, or, from a side that had not heard that yet, by its own.
void BtlKind::heard_close(const BtlHead& head) {
  std::erase_if(awaited_, [&](const Last& each) {
    return each.rank == head.rank && (head.to != 0 ? each.head.from == head.to : each.head.to == head.from);
  });
}

void BtlKind::say_last() {
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const Last& each = last_[i];
    const HostMessages::Taken taken = send(each.head, each.rank, {});
    if (taken == HostMessages::Taken::never)  // nobody will answer
      std::erase_if(awaited_, [&](const Last& other) { return other.rank == each.rank && other.head.from == each.head.from; });
    if (taken != HostMessages::Taken::later) continue;
    last_.erase(last_.begin(), last_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  last_.clear();
}

bool BtlKind::introduce() {
  bool any = false;
  for (const std::uint64_t number : std::exchange(to_introduce_, {})) {
    BtlPair* const pair = find(number);
    if (pair == nullptr) continue;  // given up meanwhile
    if (pair->introduce())
      any = true;
    else
      to_introduce_.push_back(number);
  }
  return any;
}

void BtlKind::take(std::span<const std::byte> message, MessageArrivals& arrivals) {
  BtlHead head;
  if (!read_btl_head(message, head).ok()) return;
  if (head.type != BtlType::call) {
    if (BtlPair* pair = receiver_of(head)) pair->take(head, message.subspan(kBtlHead));
    if (head.type == BtlType::close) heard_close(head);
    return;
  }
  if (parting_) return last_.push_back({{BtlType::close, head.rail, job_rank_, head.from, ++last_number_}, head.rank});
  for (std::size_t rail = 0; rail < modules_.size(); ++rail) {
    if (modules_[rail] != head.rail) continue;
    arrivals.arrived(rail, std::make_unique<BtlPair>(*this, rail, head.rank, ++last_number_, head.from),
                     "rank " + std::to_string(head.rank));
  }
}

}  // namespace nezha
