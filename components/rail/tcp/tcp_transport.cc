// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/tcp_transport.h"

#include <sys/epoll.h>

#include <cerrno>

#include "rail/tcp/tcp.h"

namespace nezha {
namespace {

constexpr int kEvents = 64;
constexpr std::size_t kBin = 64 * 1024;

}  // namespace

TcpTransport::TcpTransport(const TcpOptions& options, const Clock& clock, Log log, Admission& admission,
                           ProcessId self)
    : options_(options), log_(log), admission_(admission),
      shop_{options_, clock, Fd(epoll_create1(EPOLL_CLOEXEC)), Fd(epoll_create1(EPOLL_CLOEXEC)),
            std::vector<std::byte>(kBin), {}, {}},
      door_(options_, clock, log, admission, self, *this) {}

Status TcpTransport::open(std::vector<Interface> interfaces) {
  if (!shop_.all || !shop_.rare) return io_error("epoll_create", errno);
  Status status = door_.open(std::move(interfaces));
  if (!status.ok()) return status;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  for (const Fd* set : {&shop_.all, &shop_.rare}) {
    if (epoll_ctl(set->get(), EPOLL_CTL_ADD, door_.fd(), &event) != 0) return io_error("epoll", errno);
  }
  return {};
}

bool TcpTransport::progress(Watch watch) {
  bool any = report_broken();
  bool door_ready = false;
  epoll_event events[kEvents];
  const int count = epoll_wait(wait_fd(watch), events, kEvents, 0);
  for (int i = 0; i < count; ++i) {
    auto* lane = static_cast<TcpLane*>(events[i].data.ptr);
    if (lane == nullptr) {
      door_ready = true;
      continue;
    }
    if ((events[i].events & EPOLLOUT) != 0) lane->flush();
    if ((events[i].events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) lane->receive();
    any = true;
  }
  any |= door_.progress(door_ready);
  any |= report_broken();
  forgotten_.clear();
  return any;
}

bool TcpTransport::report_broken() {
  bool any = false;
  while (!shop_.broken.empty()) {
    TcpLane* lane = shop_.broken.back();
    shop_.broken.pop_back();
    lane->report_broken();
    any = true;
  }
  return any;
}

Status TcpTransport::let_in(Fd fd, const LaneSpec& spec, std::string text) {
  log_.line(2, "lane up: %s", text.c_str());
  auto lane = std::make_unique<TcpLane>(spec, std::move(fd), std::move(text), shop_);
  const Status status = lane->watch();
  if (!status.ok()) return status;
  TcpLane& up = *lane;
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

std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options, std::vector<Interface> chosen,
                                              const Clock& clock, Log log, Admission& admission, ProcessId self,
                                              Status* why) {
  auto transport = std::make_unique<TcpTransport>(options, clock, log, admission, self);
  Status status = transport->open(std::move(chosen));
  const bool ok = status.ok();
  if (why != nullptr) *why = std::move(status);
  if (!ok) return nullptr;
  return transport;
}

}  // namespace nezha
