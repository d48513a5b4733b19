// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/tcp_transport.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rail/tcp/tcp.h"

namespace nezha {
namespace {

constexpr int kEvents = 64;
constexpr std::size_t kBin = 64 * 1024;
constexpr char kNetworkNamespace[] = "/proc/self/ns/net";

}  // namespace

TcpTransport::TcpTransport(const TcpOptions& options, const Clock& clock, Log log, Admission& admission,
                           ProcessId self)
    : options_(options), log_(log), admission_(admission),
      context_{options_, clock, Fd(epoll_create1(EPOLL_CLOEXEC)), Fd(epoll_create1(EPOLL_CLOEXEC)),
            std::vector<std::byte>(kBin), {}, {}, options.lane_memory, Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), {}, {}},
      acceptor_(options_, clock, log, admission, self, *this), loopback_acceptor_(options_, clock, log, admission, self, *this) {}

TcpTransport::~TcpTransport() {
  if (asking_ && service_ != nullptr) service_->cancel(task_);
}

Status TcpTransport::open(std::vector<Interface> interfaces, std::unique_ptr<LinkWatch> links) {
  if (!context_.all || !context_.rare || !context_.over) return io_error("a descriptor for waiting", errno);
  Status status = acceptor_.open(std::move(interfaces));
  if (!status.ok()) return status;
  if (!watch_acceptor(acceptor_)) return io_error("epoll", errno);
  if (options_.loopback) open_loopback();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // never read
  event.data.ptr = &context_.over;
  if (epoll_ctl(context_.all.get(), EPOLL_CTL_ADD, context_.over.get(), &event) != 0) return io_error("epoll", errno);
  watch_links(std::move(links));
  return watch_payload(EPOLL_CTL_ADD, 0) ? Status{} : io_error("epoll", errno);
}

bool TcpTransport::watch_acceptor(Acceptor& acceptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &acceptor;
  return epoll_ctl(context_.all.get(), EPOLL_CTL_ADD, acceptor.fd(), &event) == 0 &&
         epoll_ctl(context_.rare.get(), EPOLL_CTL_ADD, acceptor.fd(), &event) == 0;
}

/// Without it, lanes to processes of this node go over its rails.
void TcpTransport::open_loopback() {
  struct stat space;
  Status status = stat(kNetworkNamespace, &space) == 0 ? loopback_acceptor_.open_loopback() : io_error(kNetworkNamespace, errno);
  if (status.ok() && !watch_acceptor(loopback_acceptor_)) status = io_error("epoll", errno);
  if (status.ok())
    loopback_ = {space.st_ino, loopback_acceptor_.rails().front()};
  else
    log_.line(2, "processes of this node cannot use its loopback: %s", status.text().c_str());
}

std::string TcpTransport::where(const RailAddress& rail) const {
  TcpPlace place;
  return read_place(rail, place) ? address_text(place.family, place.address) : "?";
}

void TcpTransport::connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) {
  if (local == kLoopbackRail)
    loopback_acceptor_.connect(spec, 0, remote, deadline);
  else
    acceptor_.connect(spec, local, remote, deadline);
}

Nanoseconds TcpTransport::next_deadline() const {
  return sooner(sooner(ask_again_, look_again_), sooner(acceptor_.next_deadline(), loopback_acceptor_.next_deadline()));
}

/// The one descriptor lies in the other, armed or not.
bool TcpTransport::watch_payload(int operation, std::uint32_t events) {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.ptr = &context_;
  return epoll_ctl(context_.rare.get(), operation, context_.all.get(), &event) == 0;
}

void TcpTransport::arm_payload_wakeup() { payload_wakes_ = watch_payload(EPOLL_CTL_MOD, EPOLLIN); }

bool TcpTransport::progress(Watch watch) {
  bool any = report_broken();
  bool acceptor_ready = false, loopback_ready = false, woken = false, linked = false;
  epoll_event events[kEvents];
  const int count = epoll_wait(wait_fd(watch), events, kEvents, 0);
  any |= context_.hear_of_tasks();  // after the wait, which takes the event of their end away
  for (int i = 0; i < count; ++i) {
    const void* const source = events[i].data.ptr;
    if (source == &context_.over) continue;
    woken = woken || source == &context_;
    linked = linked || source == &links_;
    acceptor_ready = acceptor_ready || source == &acceptor_;
    loopback_ready = loopback_ready || source == &loopback_acceptor_;
    if (source == &context_ || source == &links_ || source == &acceptor_ || source == &loopback_acceptor_) continue;
    auto* lane = static_cast<TcpLane*>(events[i].data.ptr);
    if ((events[i].events & EPOLLOUT) != 0) lane->flush();
    if ((events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) lane->receive();
    any = true;
    context_.hear_of_tasks();  // a worker should not wait for work until all lanes have been read
  }
  any |= look_at_connections(linked, acceptor_ready, loopback_ready);
  if (std::exchange(payload_wakes_, false) && !woken) watch_payload(EPOLL_CTL_MOD, 0);
  return woken ? progress(Watch::all) || any : any;
}

bool TcpTransport::admit() {
  const bool any = report_broken();
  return look_at_connections(true, true, true) || any;
}

bool TcpTransport::look_at_connections(bool linked, bool acceptor_ready, bool loopback_ready) {
  if (links_) follow_links(linked);
  bool any = acceptor_.progress(acceptor_ready);
  any |= loopback_acceptor_.progress(loopback_ready);
  any |= report_broken();
  forgotten_.clear();
  return any;
}

bool TcpTransport::report_broken() {
  bool any = false;
  while (!context_.broken.empty()) {
    TcpLane* lane = context_.broken.back();
    context_.broken.pop_back();
    lane->report_broken();
    any = true;
  }
  return any;
}

Status TcpTransport::let_in(Fd fd, const LaneSpec& spec, std::string text) {
  log_.line(2, "lane up: %s", text.c_str());
  auto lane = std::make_unique<TcpLane>(spec, std::move(fd), std::move(text), context_);
  const Status status = lane->watch();
  if (!status.ok()) return status;
  TcpLane& up = *lane;
  up.bound_memory();
  up.index = lanes_.size();
  lanes_.push_back(std::move(lane));
  up.set_events(admission_.lane_up(up));
  return {};
}

void TcpTransport::forget(Lane& lane) {
  auto& gone = static_cast<TcpLane&>(lane);
  gone.close();
  const std::size_t index = gone.index;
  forgotten_.push_back(std::move(lanes_[index]));
  if (index + 1 < lanes_.size()) {
    lanes_[index] = std::move(lanes_.back());
    lanes_[index]->index = index;
  }
  lanes_.pop_back();
}

void TcpTransport::bound_lanes(std::size_t bytes) {
  if (bytes == context_.lane_memory) return;
  context_.lane_memory = bytes;
  acceptor_.bound_lanes(bytes);
  loopback_acceptor_.bound_lanes(bytes);
  for (const auto& lane : lanes_) lane->bound_memory();
}

void TcpTransport::employ(std::size_t rail, RailWorker& worker) { context_.workers[acceptor_.number(rail)] = &worker; }

std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options, std::vector<Interface> chosen,
                                              const Clock& clock, Log log, Admission& admission, ProcessId self,
                                              Status* why, std::unique_ptr<LinkWatch> links) {
  auto transport = std::make_unique<TcpTransport>(options, clock, log, admission, self);
  Status status = transport->open(std::move(chosen), std::move(links));
  const bool ok = status.ok();
  if (why != nullptr) *why = std::move(status);
  if (!ok) return nullptr;
  return transport;
}

}  // namespace nezha
