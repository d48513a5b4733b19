// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_kind.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rail/verbs/verbs.h"
#include "rail/verbs/verbs_place.h"
#include "rail/verbs/verbs_request.h"

namespace nezha {
namespace {

constexpr std::uint64_t kListener = 1ULL << 32, kDevice = 2ULL << 32, kPair = 3ULL << 32;  ///< tags: what, and its number
constexpr int kEventsPerPoll = 16;
constexpr int kSocketsEvery = 16;  ///< polls for completions: a look at sockets is a system call

void unwatch(const Fd& set, int fd) {
  epoll_event unused{};
  epoll_ctl(set.get(), EPOLL_CTL_DEL, fd, &unused);
}

}  // namespace

VerbsKind::~VerbsKind() {
  for (Abandoned& each : abandoned_) {
    if (service_ != nullptr) service_->cancel(*each.queue);
    if (each.until == 0) stop(each);
  }
}

Status VerbsKind::open(std::vector<std::unique_ptr<VerbsDevice>> devices) {
  all_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  rare_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!all_ || !rare_) return verbs_error("a descriptor for waiting", errno);
  Status last{Code::no_rail, "there is no RDMA device that can be a rail"};
  for (auto& device : devices) {
    Rail rail{std::move(device), {}, 0};
    RailAddress address;
    if (Status status = open_rail(rail, address); !status.ok()) {
      last = {status.code(), rail.device->name() + ": " + status.text()};
      log_.line(1, "not a rail: %s", last.text().c_str());
      continue;
    }
    rails_.push_back(std::move(rail));
    addresses_.push_back(std::move(address));
  }
  return rails_.empty() ? last : Status{};
}

Status VerbsKind::open_rail(Rail& rail, RailAddress& address) {
  VerbsDevice& device = *rail.device;
  if (Status status = device.activate(); !status.ok()) return status;
  VerbsPlace place = device.place();
  sockaddr_storage to{};
  socklen_t size = socket_address(place, to);
  rail.listener = Fd(socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!rail.listener) return verbs_error("a listener", errno);
  unsigned port = options_.ports.low;
  while (bind(rail.listener.get(), reinterpret_cast<sockaddr*>(&to), size) != 0) {
    if (errno != EADDRINUSE || port >= options_.ports.high) return verbs_error("a listener's port", errno);
    place.port = static_cast<std::uint16_t>(++port);
    size = socket_address(place, to);
  }
  if (listen(rail.listener.get(), options_.backlog) != 0) return verbs_error("a listener", errno);
  size = sizeof to;
  if (getsockname(rail.listener.get(), reinterpret_cast<sockaddr*>(&to), &size) != 0) return verbs_error("a listener", errno);
  place = place_of(to);
  const std::uint64_t number = rails_.size();
  if (!watch_fd(rail.listener.get(), EPOLLIN, kListener | number, EPOLL_CTL_ADD) ||
      !watch_fd(device.event_fd(), EPOLLIN, kDevice | number, EPOLL_CTL_ADD))
    return verbs_error("watching a device", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(all_.get(), EPOLL_CTL_ADD, device.completion_fd(), &event) != 0) return verbs_error("watching completions", errno);
  address.transport = kVerbs;
  address.name = verbs_rail_name(device);
  address.device = options_.share_devices ? device.interface() : "";
  address.family = place.family;
  address.precedence = kVerbsPrecedence;
  address.speed_mbps = device.speed_mbps();
  address.network = network_of(place, device.prefix());
  address.place = write_place(place);
  return {};
}

bool VerbsKind::watch_fd(int fd, std::uint32_t events, std::uint64_t tag, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(rare_.get(), operation, fd, &event) == 0;
}

std::unique_ptr<VerbsPair> VerbsKind::make_pair(VerbsDevice& device, Fd fd, bool connecting) {
  do ++last_number_;
  while (last_number_ == 0 || find(last_number_) != nullptr);
  VerbsPairHost& host = *this;
  auto pair = std::make_unique<VerbsPair>(host, device, options_, std::move(fd), connecting, last_number_);
  pairs_.emplace(last_number_, pair.get());
  return pair;
}

VerbsPair* VerbsKind::find(std::uint32_t number) const {
  const auto found = pairs_.find(number);
  return found == pairs_.end() ? nullptr : found->second;
}

Status VerbsKind::connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) {
  VerbsDevice& device = *rails_[rail].device;
  VerbsPlace place, own = device.place();
  if (!read_place(remote.place, place) || place.family != own.family) return {Code::bad_peer, "the peer's rail has an impossible address"};
  ibv_port_attr port;
  if (Status status = device.ask_port(port); !status.ok()) return status;
  sockaddr_storage from{}, to{};
  own.port = 0;
  const socklen_t from_size = socket_address(own, from), to_size = socket_address(place, to);
  Fd fd(socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return verbs_error("a socket", errno);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&from), from_size) != 0) return verbs_error("the rail's address", errno);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), to_size) != 0 && errno != EINPROGRESS) return verbs_error("connecting", errno);
  made = make_pair(device, std::move(fd), true);
  return {};
}

std::string VerbsKind::where(const RailAddress& rail) const {
  VerbsPlace place;
  return read_place(rail.place, place) ? text_of(place) : "an impossible address";
}

bool VerbsKind::poll(Watch watch, MessageArrivals& arrivals) {
  bool any = false;
  resume();
  if (watch == Watch::all)
    for (const Rail& rail : rails_) any |= poll_completions(*rail.device);
  if (watch == Watch::rare || ++unlooked_ >= kSocketsEvery) {
    unlooked_ = 0;
    any |= poll_sockets(arrivals);
  }
  return any | poll_moves();
}

bool VerbsKind::poll_completions(VerbsDevice& device) {
  std::array<ibv_wc, 16> completions;
  int seen = 0, count = 0;
  do {
    count = device.poll(completions.data(), static_cast<int>(completions.size()));
    for (int i = 0; i < count; ++i) complete(device, completions[static_cast<std::size_t>(i)]);
    seen += count;
  } while (count == static_cast<int>(completions.size()) && seen < options_.completions_per_poll);
  return seen != 0;
}

/// What came for a pair that is closed, or ends with an error, leaves its slot to others.
void VerbsKind::complete(VerbsDevice& device, const ibv_wc& completion) {
  std::uint32_t number = number_of(completion.wr_id);
  const std::uint32_t slot = slot_of(completion.wr_id);
  if ((slot & kSharedSlot) != 0) {
    VerbsReceives* const receives = device.find_receives(number);
    if (receives == nullptr) return;
    number = receives->pair_of(completion.qp_num);
    if (number == 0 || completion.status != IBV_WC_SUCCESS) receives->give_back(slot & ~kSharedSlot);
  }
  if (VerbsPair* pair = find(number)) pair->complete(completion);
}

bool VerbsKind::poll_sockets(MessageArrivals& arrivals) {
  epoll_event events[kEventsPerPoll];
  const int count = epoll_wait(rare_.get(), events, kEventsPerPoll, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[i].data.u64;
    const auto number = static_cast<std::uint32_t>(tag);
    if ((tag & ~0xffffffffULL) == kListener) {
      accept_from(number, arrivals);
    } else if ((tag & ~0xffffffffULL) == kDevice) {
      hear_of_device(*rails_[number].device, (events[i].events & (EPOLLERR | EPOLLHUP)) != 0);
    } else {
      look_at(number);
    }
  }
  return count > 0;
}

void VerbsKind::look_at(std::uint32_t number) {
  VerbsPair* pair = find(number);
  if (pair == nullptr || !pair->look()) return;
  // What it sent before it went has arrived before the end of its connection, and counts.
  while (poll_completions(pair->device())) {
    pair = find(number);
    if (pair == nullptr) return;
  }
  pair->lose({Code::closed, "the other side closed the connection"});
}

/// The kernel reports an error on both descriptors of a device that it has taken away, for ever.
void VerbsKind::hear_of_device(VerbsDevice& device, bool gone) {
  std::string text;
  bool ends = false, over = gone;
  while (device.next_event(text, ends)) {
    log_.line(2, "%s port %u: %s", device.name().c_str(), device.port(), text.c_str());
    over = over || ends;
  }
  if (gone) {
    text = "the device is gone";
    log_.line(1, "%s port %u: %s", device.name().c_str(), device.port(), text.c_str());
    unwatch(rare_, device.event_fd());
    unwatch(all_, device.completion_fd());
  }
  if (!over) return;
  std::vector<std::uint32_t> lost;
  for (const auto& [number, pair] : pairs_)
    if (&pair->device() == &device) lost.push_back(number);
  for (const std::uint32_t number : lost)
    if (VerbsPair* pair = find(number)) pair->lose({Code::io, device.name() + ": " + text});
}

bool VerbsKind::poll_moves() {
  bool any = false;
  const std::vector<std::uint32_t> moving = moving_;
  for (const std::uint32_t number : moving) {
    VerbsPair* pair = find(number);
    if (pair != nullptr && !pair->has_moved()) continue;
    std::erase(moving_, number);
    if (pair != nullptr) pair->moved();
    any = true;
  }
  end_abandoned();
  return any;
}

/// A pair that stops, or is destroyed, may take the completions with it that nobody has seen, and the shared slots that they are of.
void VerbsKind::end_abandoned() {
  if (abandoned_.empty()) return;
  const Nanoseconds now = clock_.now();
  const auto stops = [](const Abandoned& each) { return each.until == 0 && each.queue->over(); };
  const auto goes = [now](const Abandoned& each) { return each.until != 0 && each.until <= now; };
  if (std::any_of(abandoned_.begin(), abandoned_.end(), [&](const Abandoned& each) { return stops(each) || goes(each); }))
    for (const Rail& rail : rails_)
      while (poll_completions(*rail.device)) {}
  for (Abandoned& each : abandoned_)
    if (stops(each)) stop(each);
  std::erase_if(abandoned_, goes);
}

void VerbsKind::stop(Abandoned& abandoned) {
  abandoned.queue->stop();
  abandoned.until = clock_.now() + options_.linger;
}

void VerbsKind::accept_from(std::size_t rail, MessageArrivals& arrivals) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Fd fd(accept4(rails_[rail].listener.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    arrivals.arrived(rail, make_pair(*rails_[rail].device, std::move(fd), false), text_of(place_of(address)));
    return;
  }
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  pause(rail, errno);
}

/// The listener stays readable, and would keep the process awake.
void VerbsKind::pause(std::size_t rail, int error) {
  if (!watch_fd(rails_[rail].listener.get(), 0, kListener | rail, EPOLL_CTL_MOD)) return;
  rails_[rail].paused_until = clock_.now() + options_.accept_pause;
  if (std::has_single_bit(++pauses_))
    log_.line(1, "rail %s accepts no connections for a while: %s (%llu times so far)", addresses_[rail].label().c_str(),
              std::strerror(error), static_cast<unsigned long long>(pauses_));
}

void VerbsKind::resume() {
  if (next_deadline() == 0) return;
  const Nanoseconds now = clock_.now();
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    Nanoseconds& until = rails_[rail].paused_until;
    if (until == 0 || until > now) continue;
    until = watch_fd(rails_[rail].listener.get(), EPOLLIN, kListener | rail, EPOLL_CTL_MOD)
                ? 0
                : now + options_.accept_pause;
  }
}

Nanoseconds VerbsKind::next_deadline() const {
  Nanoseconds next = 0;
  for (const Rail& rail : rails_) next = sooner(next, rail.paused_until);
  for (const Abandoned& each : abandoned_) next = sooner(next, each.until == 0 && each.queue->over() ? 1 : each.until);
  return next;
}

bool VerbsKind::may_sleep(Watch watch) {
  unlooked_ = kSocketsEvery;  // they may be what wakes the sleeper
  if (watch == Watch::rare) return true;
  bool idle = true;
  for (const Rail& rail : rails_) idle &= rail.device->arm();
  return idle;
}

Status VerbsKind::watch(VerbsPair& pair, bool writable) {
  const std::uint64_t tag = kPair | pair.number();
  const std::uint32_t events = writable ? EPOLLOUT : EPOLLIN | EPOLLRDHUP;
  const bool done = watch_fd(pair.fd(), events, tag, EPOLL_CTL_ADD) || (errno == EEXIST && watch_fd(pair.fd(), events, tag, EPOLL_CTL_MOD));
  return done ? Status{} : verbs_error("watching a connection", errno);
}

void VerbsKind::leave(VerbsPair& pair) {
  unwatch(rare_, pair.fd());
  pairs_.erase(pair.number());
}

void VerbsKind::move(VerbsPair& pair, VerbsQueue& queue) {
  moving_.push_back(pair.number());
  queue.begin();
  if (service_ != nullptr) {
    service_->submit(queue);
  } else {
    queue.run();
  }
}

void VerbsKind::abandon(std::shared_ptr<VerbsQueue> queue) {
  queue->abandon();
  Abandoned& last = abandoned_.emplace_back(Abandoned{std::move(queue)});
  if (last.queue->over() && (last.queue->receives == nullptr || last.queue->lends())) stop(last);
}

}  // namespace nezha
