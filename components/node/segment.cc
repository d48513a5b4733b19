// SPDX-License-Identifier: BSD-3-Clause
#include "node/segment.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace nezha {
namespace {

/// True when the process at the other end has closed it. Nothing is ever sent on it.
bool has_ended(const Fd& connection) {
  std::byte none;
  const ssize_t got = recv(connection.get(), &none, 1, MSG_DONTWAIT | MSG_PEEK);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Segment::Segment(const SegmentSpec& spec, NodeAcceptor& acceptor, NodeAcceptor::SecretOf secret_of)
    : spec_(spec), layout_(spec.members, spec.chunk), acceptor_(&acceptor), connections_(spec.members) {
  Status status = make(std::move(secret_of));
  if (!status.ok()) give_up(std::move(status));
}

Segment::Segment(const SegmentSpec& spec, const NodeName& maker, const Secret& secret)
    : spec_(spec), layout_(spec.members, spec.chunk), connections_(spec.members) {
  const NodeHello hello{.team = spec.team, .member = spec.self, .members = spec.members, .size = layout_.size()};
  connector_.emplace(maker, hello, secret, spec.deadline);
}

Segment::~Segment() {
  if (acceptor_ != nullptr) acceptor_->withdraw(spec_.team);
  // A child that this process forked leaves nothing.
  if (memory_ && spec_.system->process() == process_) memory_->mark_gone(spec_.self, NodeEnd::left);
}

Status Segment::make(NodeAcceptor::SecretOf secret_of) {
  Status status = spec_.system->make(layout_.size(), descriptor_);
  if (!status.ok()) return status;
  status = enter(descriptor_);
  if (!status.ok()) return status;
  acceptor_->offer({.team = spec_.team,
                    .members = spec_.members,
                    .size = layout_.size(),
                    .descriptor = descriptor_.get(),
                    .secret_of = std::move(secret_of)});
  return {};
}

Status Segment::enter(const Fd& descriptor) {
  Status status = spec_.system->map(descriptor, layout_.size(), shared_);
  if (!status.ok()) return status;
  if (spec_.self == 0) NodeMemory::write_header(layout_, shared_.base());
  status = NodeMemory::check_header(layout_, shared_.base());
  if (!status.ok()) return status;
  memory_.emplace(layout_, shared_.base(), spec_.self);
  trial_.emplace(*memory_, spec_.allowed, *spec_.system);
  return trial_->arrive();
}

Segment::State Segment::progress(Nanoseconds now) {
  if (state_ == State::absent) return state_;
  if (connector_) join(now);
  if (acceptor_ != nullptr) admit();
  if (memory_) look_at_connections();
  look_at_memories(now);
  if (state_ == State::joining && trial_) agree(now);
  return state_;
}

void Segment::join(Nanoseconds now) {
  const NodeConnector::Outcome outcome = connector_->proceed(now);
  if (outcome == NodeConnector::Outcome::pending) return;
  Status status = connector_->why();
  if (outcome == NodeConnector::Outcome::joined) {
    connections_[0] = connector_->take_connection();
    status = enter(connector_->take_memory());
  }
  connector_.reset();
  if (!status.ok()) give_up(std::move(status));
}

void Segment::admit() {
  for (NodeAcceptor::Admitted& admitted : acceptor_->take(spec_.team)) {
    // A member comes once: another connection is no reason to forget the first.
    Fd& connection = connections_[admitted.member];
    if (!connection) connection = std::move(admitted.connection);
  }
}

std::size_t Segment::connections() const {
  const auto open = [](const Fd& connection) { return bool{connection}; };
  return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), open));
}

void Segment::agree(Nanoseconds now) {
  // Read first: one that left after it had agreed had seen all verdicts, so that this trial finds them too.
  const bool anybody_gone = memory_->anybody_gone();
  const bool agreed = trial_->poll();
  const std::string awaited = "local member " + std::to_string(trial_->awaited());
  for (std::uint32_t member = 0; !agreed && anybody_gone && member < spec_.members; ++member) {
    if (memory_->gone(member) == NodeEnd::none) continue;
    return give_up({Code::closed, "local member " + std::to_string(member) + " has no part in it, or has ended"});
  }
  if (!agreed && now >= spec_.deadline) return give_up({Code::timed_out, awaited + " did not come in time"});
  if (!agreed) return;
  state_ = State::ready;
  if (acceptor_ != nullptr) acceptor_->withdraw(spec_.team);
  acceptor_ = nullptr;
  descriptor_.reset();
}

void Segment::look_at_connections() {
  for (std::uint32_t member = 0; member < spec_.members; ++member) {
    Fd& connection = connections_[member];
    if (!connection || !has_ended(connection)) continue;
    connection.reset();
    memory_->mark_gone(member, NodeEnd::died);
  }
}

/// A closed connection does not show every end: a child of the member may still hold the socket, and after member 0 has
/// left the others have no connection. A process whose memory cannot be read any more has ended, also if it is a
/// zombie.
void Segment::look_at_memories(Nanoseconds now) {
  if (state_ != State::ready || access() != NodeAccess::single_copy || now < next_look_at_memories_) return;
  next_look_at_memories_ = now + kLookAtMemories;
  for (std::uint32_t member = 0; member < spec_.members; ++member) {
    NodeTrialLine& line = memory_->member(member).trial;
    std::uint64_t probe = 0;
    const int error = spec_.system->read(static_cast<pid_t>(NodeMemory::peek(line.pid)), NodeMemory::peek(line.probe),
                                         reinterpret_cast<std::byte*>(&probe), sizeof(probe));
    if (error == ESRCH) memory_->mark_gone(member, NodeEnd::died);
  }
}

void Segment::give_up(Status why) {
  why_ = {why.code(), "no shared memory on this node: " + why.text()};
  state_ = State::absent;
  if (acceptor_ != nullptr) acceptor_->withdraw(spec_.team);
  acceptor_ = nullptr;
  if (memory_) memory_->mark_gone(spec_.self, NodeEnd::gave_up);
  for (Fd& connection : connections_) connection.reset();
  descriptor_.reset();
}

}  // namespace nezha
