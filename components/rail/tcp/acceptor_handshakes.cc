// SPDX-License-Identifier: BSD-3-Clause
/// The part of the acceptor that sees handshakes through to their end, good or bad.
#include <sys/epoll.h>

#include <algorithm>
#include <bit>

#include "rail/tcp/acceptor.h"

namespace nezha {
namespace {

/// Linux answers ARP for any of its addresses on every NIC of a subnet unless told otherwise.
constexpr char kArpHint[] =
    " (this node has several NICs in that subnet: all nodes need the sysctls net.ipv4.conf.all.arp_ignore=1 and"
    " arp_announce=2)";

bool is_silent(const TcpHandshake& handshake) {
  return handshake.fd() >= 0 && !handshake.connecting_side() && !handshake.has_said_hello();
}

}  // namespace

std::uint64_t Acceptor::tag_of(const TcpHandshake& handshake) { return reinterpret_cast<std::uintptr_t>(&handshake); }

void Acceptor::due_by(Nanoseconds time) { next_deadline_ = sooner(next_deadline_, time); }

std::string Acceptor::lane_text(std::size_t rail, const std::string& peer) const {
  return addresses_[rail].label() + " to " + peer;
}

Status Acceptor::connect_error(std::size_t rail, const std::string& peer, const Status& why) const {
  const bool may_be_arp = rails_[rail].shares_subnet && (why.code() == Code::io || why.code() == Code::timed_out);
  return {why.code(), lane_text(rail, peer) + ": " + why.text() + (may_be_arp ? kArpHint : "")};
}

void Acceptor::add(std::unique_ptr<TcpHandshake> handshake) {
  due_by(handshake->deadline());
  pending_.push_back(std::move(handshake));
}

void Acceptor::make_room(Rail& rail) {
  if (rail.pending < options_.pending_per_rail) return;
  TcpHandshake* victim = nullptr;
  for (const auto& handshake : pending_) {
    if (handshake->fd() < 0 || handshake->connecting_side() || &rails_[handshake->rail()] != &rail) continue;
    if (victim == nullptr) victim = handshake.get();
    if (handshake->has_said_hello()) continue;
    victim = handshake.get();
    break;
  }
  if (victim != nullptr) finish(*victim, {Code::refused, "too many connections wait for admission"});
}

/// Anybody may connect, but the host needs descriptors too: Open MPI ends the job when it can open none.
void Acceptor::spare_descriptors(int newest) {
  std::size_t free = descriptors_beyond(newest);
  auto silent = static_cast<std::size_t>(
      std::count_if(pending_.begin(), pending_.end(), [](const auto& each) { return is_silent(*each); }));
  for (const auto& each : pending_) {
    if (silent * options_.silent_part < free) return;
    if (!is_silent(*each)) continue;
    finish(*each, {Code::refused, "too many connections say nothing, and descriptors are few"});
    --silent, ++free;
  }
}

void Acceptor::proceed(TcpHandshake& handshake) {
  if (handshake.fd() < 0) return;
  const bool wanted_write = handshake.wants_write();
  switch (handshake.proceed(admission_)) {
    case TcpHandshake::Outcome::pending:
      if (wanted_write && !handshake.wants_write()) {
        watch(handshake.fd(), EPOLLIN, tag_of(handshake), EPOLL_CTL_MOD);
        handshake.extend(clock_.now() + options_.admission_time);
      }
      return;
    case TcpHandshake::Outcome::failed:
      finish(handshake, handshake.why());
      return;
    case TcpHandshake::Outcome::admitted:
      break;
  }
  watch(handshake.fd(), 0, 0, EPOLL_CTL_DEL);
  if (!handshake.connecting_side()) --rails_[handshake.rail()].pending;
  const Status status =
      host_.let_in(handshake.take_fd(), handshake.spec(), lane_text(handshake.rail(), handshake.peer()));
  if (!status.ok() && handshake.connecting_side()) admission_.lane_failed(handshake.spec(), status);
}

void Acceptor::finish(TcpHandshake& handshake, const Status& why) {
  watch(handshake.fd(), 0, 0, EPOLL_CTL_DEL);
  handshake.close();
  if (handshake.connecting_side()) {
    admission_.lane_failed(handshake.spec(), connect_error(handshake.rail(), handshake.peer(), why));
  } else {
    --rails_[handshake.rail()].pending;
    note_refusal(handshake, why);
  }
}

/// A flood must not fill the log: only the first, the second, the fourth … is told.
void Acceptor::note_refusal(const TcpHandshake& handshake, const Status& why) {
  ++refusals_;
  if (!std::has_single_bit(refusals_)) return;
  log_.line(2, "connection from %s refused on %s: %s (%llu refused so far)", handshake.peer().c_str(),
            addresses_[handshake.rail()].label().c_str(), why.text().c_str(),
            static_cast<unsigned long long>(refusals_));
}

void Acceptor::expire(Nanoseconds now) {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    TcpHandshake& handshake = *pending_[i];
    if (handshake.fd() < 0 || handshake.deadline() > now) continue;
    finish(handshake, {Code::timed_out, handshake.wants_write() ? "no answer within the time"
                                                                : "no word about admission within the time"});
  }
}

void Acceptor::sweep() {
  std::erase_if(pending_, [](const auto& handshake) { return handshake->fd() < 0; });
  next_deadline_ = 0;
  for (const auto& handshake : pending_) due_by(handshake->deadline());
  for (const Rail& rail : rails_) due_by(rail.paused_until);
  for (const Announcement& each : announcements_) due_by(each.due());
}

Nanoseconds Acceptor::next_deadline() const { return failures_.empty() ? next_deadline_ : 1; }

void Acceptor::report_failures() {
  while (!failures_.empty()) {
    const Failure failure = std::move(failures_.front());
    failures_.erase(failures_.begin());
    admission_.lane_failed(failure.spec, failure.why);
  }
}

}  // namespace nezha
