// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/tcp_lane.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "rail/tcp/send_task.h"
#include "rail/tcp/socket.h"

namespace nezha {
namespace {

/// Linux answers a packet or two at once only when it has something to say to them, else within 40 ms and a tick.
constexpr Nanoseconds kDelayedAnswer = 45 * kMillisecond;
constexpr std::uint32_t kAnsweredLate = 2;  ///< packets
constexpr std::size_t kWholeFrame = kEnvelopeSize + kMaxFrameHeader + kMaxFramePayload;

std::size_t total(std::span<const iovec> places) {
  std::size_t sum = 0;
  for (const iovec& place : places) sum += place.iov_len;
  return sum;
}

/// An older kernel's tcp_info is shorter.
template <typename Field>
bool knows(socklen_t size, Field tcp_info::*field) {
  static const tcp_info info{};
  return reinterpret_cast<const char*>(&(info.*field) + 1) - reinterpret_cast<const char*>(&info) <= static_cast<std::ptrdiff_t>(size);
}

/// What waits for the peer's window is not in flight. Selective acknowledgements count as answers: a lane that loses
/// packets is alive.
LanePulse pulse_of(const tcp_info& info) {
  LanePulse pulse;
  pulse.delivered = info.tcpi_bytes_acked + info.tcpi_delivered;
  pulse.in_flight = std::size_t{info.tcpi_unacked} * info.tcpi_snd_mss;
  pulse.held_back = pulse.in_flight == 0 && info.tcpi_notsent_bytes != 0;
  pulse.heard = std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) * kMillisecond;
  pulse.rtt = (info.tcpi_rtt + 4 * Nanoseconds{info.tcpi_rttvar}) * kMicrosecond;
  if (info.tcpi_unacked <= kAnsweredLate) pulse.rtt += kDelayedAnswer;
  return pulse;
}

}  // namespace

TcpLane::TcpLane(const LaneSpec& spec, Fd fd, std::string text, TcpLaneContext& context)
    : Lane(spec), context_(context), fd_(std::move(fd)), text_(std::move(text)),
      reader_({context.options.staging, context.options.large_frame, context.options.tail}, context.bin) {}

Status TcpLane::watch() {
  epoll_event event{};
  event.data.ptr = this;
  event.events = EPOLLIN | EPOLLRDHUP;
  if (epoll_ctl(context_.all.get(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) return io_error("epoll", errno);
  event.events = EPOLLRDHUP;
  if (epoll_ctl(context_.rare.get(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) return io_error("epoll", errno);
  return {};
}

Lane::Sent TcpLane::send(std::span<const std::byte> header, std::span<const Gather> payload) {
  if (state_ != State::open) return Sent::down;
  if (busy()) return Sent::busy;
  const std::optional<std::size_t> size = payload_size(header, payload);
  if (!size) {
    fail({Code::internal, kBeyondLimits});
    return Sent::down;
  }
  write_envelope(out_.data(), header, *size);
  std::copy(header.begin(), header.end(), out_.begin() + kEnvelopeSize);
  rest_[0] = {out_.data(), kEnvelopeSize + header.size()};
  std::size_t count = 1;
  for (const Gather& part : payload) {
    if (part.size > 0) rest_[count++] = {const_cast<std::byte*>(part.data), part.size};
  }
  rest_at_ = 0;
  rest_count_ = count;
  if (RailWorker* worker = worker_for(*size)) {
    leave_to(*worker);
  } else {
    if (!write_rest()) return Sent::down;
    if (!busy()) return Sent::whole;
    watch_writable(true);
  }
  return Sent::partly;
}

/// Sends what can be sent now. False when the lane has failed.
bool TcpLane::write_rest() {
  int error = 0;
  const ssize_t sent = send_now(fd_.get(), rest(), error);
  if (sent < 0) {
    fail(io_error("sending", error));
    return false;
  }
  keep_rest(static_cast<std::size_t>(sent));
  return true;
}

void TcpLane::keep_rest(std::size_t sent) {
  while (rest_count_ > 0 && sent >= rest_[rest_at_].iov_len) {
    sent -= rest_[rest_at_].iov_len;
    ++rest_at_;
    --rest_count_;
  }
  if (sent > 0) {
    rest_[rest_at_].iov_base = static_cast<std::byte*>(rest_[rest_at_].iov_base) + sent;
    rest_[rest_at_].iov_len -= sent;
  }
}

void TcpLane::own_rest() {
  if (owned_ != nullptr) return;
  call_back();
  if (rest_count_ == 0) return;
  if (context_.spares.empty()) {
    owned_ = std::make_unique_for_overwrite<std::byte[]>(kWholeFrame);
  } else {
    owned_ = std::move(context_.spares.back());
    context_.spares.pop_back();
  }
  std::size_t size = 0;
  for (const iovec& place : rest()) {
    std::memcpy(owned_.get() + size, place.iov_base, place.iov_len);
    size += place.iov_len;
  }
  rest_at_ = 0;
  rest_count_ = 1;
  rest_[0] = {owned_.get(), size};
}

void TcpLane::flush() {
  if (state_ != State::open || !busy() || away()) return;
  if (RailWorker* worker = worker_for(total(rest()))) {
    watch_writable(false);
    return leave_to(*worker);
  }
  if (!write_rest() || busy()) return;
  watch_writable(false);
  drop_rest();
  events_->lane_free(*this);
}

void TcpLane::drop_rest() {
  rest_count_ = 0;
  if (owned_ != nullptr && context_.spares.size() < context_.options.spare_frames) context_.spares.push_back(std::move(owned_));
  owned_.reset();
}

void TcpLane::watch_writable(bool wanted) {
  epoll_event event{};
  event.data.ptr = this;
  event.events = EPOLLIN | EPOLLRDHUP | (wanted ? EPOLLOUT : 0U);
  epoll_ctl(context_.all.get(), EPOLL_CTL_MOD, fd_.get(), &event);
}

bool TcpLane::receive() {
  bool any = false;
  std::size_t budget = context_.options.receive_budget;
  std::array<iovec, FrameReader::kMaxPlaces> places;
  while (state_ == State::open && budget > 0) {
    const std::size_t count = reader_.plan(places);
    const std::size_t wanted = total(std::span(places).first(count));
    const ssize_t got = readv(fd_.get(), places.data(), static_cast<int>(count));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && temporary(errno)) break;
    any = true;
    if (got < 0) {
      fail(io_error("receiving", errno));
    } else if (got == 0 && reader_.inside_frame()) {
      fail({Code::io, "the other side closed the connection in the middle of a frame"});
    } else if (got == 0) {
      fail({Code::closed, "the other side closed the connection"});
    } else {
      Status status = reader_.took(static_cast<std::size_t>(got), *this, *events_);
      if (!status.ok()) fail(std::move(status));
      if (static_cast<std::size_t>(got) < wanted) break;  // the socket is empty
      budget -= std::min(budget, static_cast<std::size_t>(got));
    }
  }
  return any;
}

void TcpLane::bound_memory() {
  if (state_ != State::open) return;
  narrow_receive_buffer(fd_.get(), spec().same_node ? std::max(context_.lane_memory, context_.options.loopback_memory) : context_.lane_memory);
}

/// What the worker's call has taken so far counts twice until it is over.
std::size_t TcpLane::fill() {
  if (state_ != State::open) return 0;
  int queued = 0;
  if (ioctl(fd_.get(), SIOCOUTQ, &queued) != 0) queued = 0;
  return static_cast<std::size_t>(queued) + total(rest());
}

/// Asked for with each small message. What the lane carries has pulse() look for a lesser one.
Nanoseconds TcpLane::min_rtt() {
  if (min_rtt_ == 0) ask_info();
  return min_rtt_;
}

LanePulse TcpLane::pulse() {
  ask_info();
  return pulse_;
}

void TcpLane::ask_info() {
  if (away()) return;  // the worker's call holds the socket
  const Nanoseconds now = context_.clock.now();
  if (state_ != State::open || (info_asked_ && now < info_due_)) return;
  info_asked_ = true;
  info_due_ = now + context_.options.info_refresh;
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
  // The kernel's is of the last minutes, in which there may always have been a queue.
  if (knows(size, &tcp_info::tcpi_min_rtt) && info.tcpi_min_rtt != ~0U) min_rtt_ = sooner(min_rtt_, info.tcpi_min_rtt * kMicrosecond);
  pulse_ = knows(size, &tcp_info::tcpi_delivered) ? pulse_of(info) : LanePulse{};
}

void TcpLane::fail(Status why) {
  if (state_ != State::open) return;
  state_ = State::broken;
  why_ = std::move(why);
  reader_.stop();
  shutdown(fd_.get(), SHUT_RDWR);  // both epoll descriptors report it from here on
  context_.broken.push_back(this);
}

void TcpLane::report_broken() {
  if (state_ != State::broken) return;
  detach();
  events_->lane_down(*this, {why_.code(), "lane " + text_ + ": " + why_.text()});
}

void TcpLane::close() {
  if (state_ != State::closed) detach();
}

/// After fork() a child may hold the socket too: without the explicit steps epoll would go on reporting it here, and
/// the peer would not learn of the end.
/// The kernel sends on what is queued, nearly always in vain, and its FIN until the peer has that. A reset in the place of
/// both is sent once: where it is lost, a peer with nothing under way would go on believing in the lane.
void TcpLane::detach() {
  state_ = State::closed;
  reader_.stop();
  end_task();
  drop_rest();
  epoll_event unused{};
  epoll_ctl(context_.all.get(), EPOLL_CTL_DEL, fd_.get(), &unused);
  epoll_ctl(context_.rare.get(), EPOLL_CTL_DEL, fd_.get(), &unused);
  shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
}

}  // namespace nezha
