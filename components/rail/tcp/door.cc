// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/door.h"

#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace nezha {
namespace {

constexpr int kEvents = 32;

/// Tags of the epoll descriptor: handshakes by address (even), listeners by number (odd).
std::uint64_t listener_tag(std::size_t rail, bool local) { return rail << 2 | (local ? 2U : 0U) | 1U; }
std::uint64_t tag_of(const Handshake& handshake) { return reinterpret_cast<std::uintptr_t>(&handshake); }

Nanoseconds earlier(Nanoseconds one, Nanoseconds other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

}  // namespace

Door::Door(const TcpOptions& options, const Clock& clock, Log log, Admission& admission, ProcessId self, Host& host)
    : options_(options), clock_(clock), log_(log), admission_(admission), self_(self), host_(host),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

Status Door::open(std::vector<Interface> interfaces) {
  if (!epoll_) return io_error("epoll_create", errno);
  Status last{Code::no_rail, "no interface is left for TCP rails"};
  for (Interface& interface : interfaces) {
    if (rails_.size() + options_.first_rail >= kMaxRails) break;
    const Status status = open_rail(interface);
    if (status.ok()) continue;
    last = status;
    log_.line(0, "rail tcp/%s is left out: %s", interface.name.c_str(), status.text().c_str());
  }
  return rails_.empty() ? last : Status{};
}

Status Door::open_rail(Interface& interface) {
  Rail rail;
  Status status = open_listeners(interface, options_, self_, rail.listeners);
  if (!status.ok()) return status;
  if (!rail.listeners.device_bound) note_unbound(interface);
  addresses_.push_back({"tcp", interface.name, interface.family, interface.address, interface.prefix,
                        rail.listeners.port, interface.speed_mbps});
  rail.interface = std::move(interface);
  rails_.push_back(std::move(rail));
  if (!watch_listeners(rails_.size() - 1, EPOLLIN, EPOLL_CTL_ADD)) {
    status = io_error("epoll", errno);
    rails_.pop_back();
    addresses_.pop_back();
  }
  return status;
}

void Door::note_unbound(const Interface& interface) {
  if (std::exchange(said_unbound_, true)) return;
  log_.line(1, "sockets may not be bound to devices here (%s): source addresses alone decide which NIC is used",
            interface.device.c_str());
}

bool Door::watch(int fd, std::uint32_t events, std::uint64_t tag, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

bool Door::watch_listeners(std::size_t rail, std::uint32_t events, int operation) {
  const Listeners& listeners = rails_[rail].listeners;
  return watch(listeners.network.get(), events, listener_tag(rail, false), operation) &&
         (!listeners.local || watch(listeners.local.get(), events, listener_tag(rail, true), operation));
}

std::string Door::lane_text(std::size_t rail, const std::string& peer) const {
  return addresses_[rail].label() + " to " + peer;
}

void Door::connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) {
  const std::string peer =
      SocketAddress(remote.family, remote.address, remote.port).text() + " (" + remote.label() + ")";
  const auto fail = [&](const Status& why) {
    failures_.push_back({spec, {why.code(), lane_text(local, peer) + ": " + why.text()}});
  };
  const Interface& interface = rails_[local].interface;
  if (remote.family != interface.family) return fail({Code::bad_peer, "one side is IPv4 and the other IPv6"});
  Fd fd;
  bool device_bound = false;
  const Status status = start_connect(interface, remote, options_, !spec.same_node, fd, device_bound);
  if (!status.ok()) return fail(status);
  if (!spec.same_node && !device_bound) note_unbound(interface);
  auto handshake = std::make_unique<Handshake>(std::move(fd), spec, local, peer, deadline, self_);
  if (!watch(handshake->fd(), EPOLLOUT, tag_of(*handshake), EPOLL_CTL_ADD)) return fail(io_error("epoll", errno));
  add(std::move(handshake));
}

void Door::add(std::unique_ptr<Handshake> handshake) {
  next_deadline_ = earlier(next_deadline_, handshake->deadline());
  pending_.push_back(std::move(handshake));
}

bool Door::progress(bool ready) {
  bool any = !failures_.empty();
  report_failures();
  if (ready) {
    epoll_event events[kEvents];
    const int count = epoll_wait(epoll_.get(), events, kEvents, 0);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      if ((tag & 1) != 0) {
        accept_from(tag);
      } else {
        proceed(*reinterpret_cast<Handshake*>(static_cast<std::uintptr_t>(tag)));
      }
    }
    any |= count > 0;
  }
  if (next_deadline_ != 0) {
    const Nanoseconds now = clock_.now();
    if (now >= next_deadline_) {
      expire(now);
      resume(now);
      any = true;
    }
  }
  if (any) sweep();
  return any;
}

void Door::report_failures() {
  while (!failures_.empty()) {
    const Failure failure = std::move(failures_.front());
    failures_.erase(failures_.begin());
    admission_.lane_failed(failure.spec, failure.why);
  }
}

void Door::accept_from(std::uint64_t tag) {
  const std::size_t rail = tag >> 2;
  const Listeners& listeners = rails_[rail].listeners;
  const int listener = (tag & 2) != 0 ? listeners.local.get() : listeners.network.get();
  for (std::size_t i = 0; i < options_.accepts_at_once; ++i) {
    if (!accept_one(rail, listener)) return;
  }
}

bool Door::accept_one(std::size_t rail, int listener) {
  SocketAddress from;
  Fd fd(accept4(listener, from.get(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause(rail, errno);
    return errno == EINTR || errno == ECONNABORTED;
  }
  make_room(rails_[rail]);
  tune_lane_socket(fd.get());
  const auto index = static_cast<std::uint8_t>(options_.first_rail + rail);
  auto handshake = std::make_unique<Handshake>(std::move(fd), rail, index, from.text(),
                                               clock_.now() + options_.handshake_timeout, self_);
  if (!watch(handshake->fd(), EPOLLIN, tag_of(*handshake), EPOLL_CTL_ADD)) return false;
  ++rails_[rail].pending;
  add(std::move(handshake));
  return true;
}

void Door::pause(std::size_t rail, int error) {
  if (std::has_single_bit(++pauses_)) {
    log_.line(1, "rail %s accepts no connections for a while: %s (%llu times so far)",
              addresses_[rail].label().c_str(), std::strerror(error), static_cast<unsigned long long>(pauses_));
  }
  watch_listeners(rail, 0, EPOLL_CTL_MOD);
  rails_[rail].paused_until = clock_.now() + options_.accept_pause;
  next_deadline_ = earlier(next_deadline_, rails_[rail].paused_until);
}

void Door::resume(Nanoseconds now) {
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (rails_[rail].paused_until == 0 || rails_[rail].paused_until > now) continue;
    rails_[rail].paused_until = 0;
    watch_listeners(rail, EPOLLIN, EPOLL_CTL_MOD);
  }
}

void Door::make_room(Rail& rail) {
  if (rail.pending < options_.pending_per_rail) return;
  Handshake* victim = nullptr;
  for (const auto& handshake : pending_) {
    if (handshake->fd() < 0 || handshake->connecting_side() || &rails_[handshake->rail()] != &rail) continue;
    if (victim == nullptr) victim = handshake.get();
    if (handshake->has_said_hello()) continue;
    victim = handshake.get();
    break;
  }
  if (victim != nullptr) finish(*victim, {Code::refused, "too many connections wait for admission"});
}

void Door::proceed(Handshake& handshake) {
  if (handshake.fd() < 0) return;
  const bool wanted_write = handshake.wants_write();
  switch (handshake.proceed(admission_)) {
    case Handshake::Outcome::pending:
      if (wanted_write && !handshake.wants_write()) {
        watch(handshake.fd(), EPOLLIN, tag_of(handshake), EPOLL_CTL_MOD);
      }
      return;
    case Handshake::Outcome::failed:
      finish(handshake, handshake.why());
      return;
    case Handshake::Outcome::admitted:
      break;
  }
  watch(handshake.fd(), 0, 0, EPOLL_CTL_DEL);
  if (!handshake.connecting_side()) --rails_[handshake.rail()].pending;
  const Status status =
      host_.let_in(handshake.take_fd(), handshake.spec(), lane_text(handshake.rail(), handshake.peer()));
  if (!status.ok() && handshake.connecting_side()) admission_.lane_failed(handshake.spec(), status);
}

void Door::finish(Handshake& handshake, Status why) {
  watch(handshake.fd(), 0, 0, EPOLL_CTL_DEL);
  handshake.close();
  if (handshake.connecting_side()) {
    admission_.lane_failed(handshake.spec(),
                           {why.code(), lane_text(handshake.rail(), handshake.peer()) + ": " + why.text()});
  } else {
    --rails_[handshake.rail()].pending;
    note_refusal(handshake, why);
  }
}

/// A flood must not fill the log: only the first, the second, the fourth … is told.
void Door::note_refusal(const Handshake& handshake, const Status& why) {
  ++refusals_;
  if (!std::has_single_bit(refusals_)) return;
  log_.line(2, "connection from %s refused on %s: %s (%llu refused so far)", handshake.peer().c_str(),
            addresses_[handshake.rail()].label().c_str(), why.text().c_str(),
            static_cast<unsigned long long>(refusals_));
}

void Door::expire(Nanoseconds now) {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Handshake& handshake = *pending_[i];
    if (handshake.fd() < 0 || handshake.deadline() > now) continue;
    finish(handshake, {Code::timed_out, handshake.wants_write() ? "no answer within the time"
                                                                : "no word about admission within the time"});
  }
}

void Door::sweep() {
  std::erase_if(pending_, [](const auto& handshake) { return handshake->fd() < 0; });
  next_deadline_ = 0;
  for (const auto& handshake : pending_) next_deadline_ = earlier(next_deadline_, handshake->deadline());
  for (const Rail& rail : rails_) next_deadline_ = earlier(next_deadline_, rail.paused_until);
}

Nanoseconds Door::next_deadline() const { return failures_.empty() ? next_deadline_ : 1; }

}  // namespace nezha
