// SPDX-License-Identifier: BSD-3-Clause
#include "rail/message/message_transport.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "util/epoll.h"

namespace nezha {
namespace {

constexpr std::size_t kBin = 64 * 1024;

Status no_descriptor() { return {Code::io, std::string("a descriptor for waiting: ") + std::strerror(errno)}; }

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<MessageKind> kind, const MessageOptions& options, const Clock& clock, Log log,
                                   Admission& admission, ProcessId self)
    : kind_(std::move(kind)), options_(options), clock_(clock), log_(log), admission_(admission), self_(self),
      lane_memory_(options.lane_memory), bin_(kBin) {}

MessageTransport::~MessageTransport() {
  for (const auto& pending : pending_) pending->close();
  for (const auto& lane : lanes_) lane->close();
}

Status MessageTransport::open() {
  all_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  rare_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  kick_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!all_ || !rare_ || !kick_) return no_descriptor();
  const bool added = add_to(all_, kind_->fd(Watch::all), EPOLLIN) && add_to(all_, kind_->fd(Watch::rare), EPOLLIN) &&
                     add_to(all_, kick_.get(), EPOLLIN) && add_to(rare_, kind_->fd(Watch::rare), EPOLLIN) &&
                     add_to(rare_, kick_.get(), EPOLLIN) && add_to(rare_, all_.get(), EPOLLONESHOT);
  return added ? Status{} : no_descriptor();
}

std::string MessageTransport::lane_text(std::size_t rail, const std::string& peer) const {
  return rails()[rail].label() + " to " + peer;
}

MessageAdmission& MessageTransport::add(bool connecting, const LaneSpec& spec, std::size_t rail, std::string peer,
                                        Nanoseconds deadline, std::unique_ptr<QueuePair> pair) {
  auto channel = std::make_unique<MessageChannel>(std::move(pair), options_, std::min(lane_memory_, options_.lane_memory), clock_, news_);
  MessageAdmission::Host& host = *this;
  pending_.push_back(std::make_unique<MessageAdmission>(connecting, spec, rail, std::move(peer), deadline, self_, admission_, host,
                                                        std::move(channel)));
  return *pending_.back();
}

void MessageTransport::connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) {
  const std::string peer = kind_->where(remote) + " (" + remote.label() + ")";
  // No kernel answers: the process does, once it is in a call.
  if (options_.answer_time == 0) deadline = std::max(deadline, clock_.now() + options_.admission_time);
  std::unique_ptr<QueuePair> pair;
  Status status = kind_->connect(local, remote, pair);
  if (status.ok()) {
    MessageAdmission& pending = add(true, spec, local, peer, deadline, std::move(pair));
    status = pending.start();
    pending.over = !status.ok();
  }
  if (!status.ok()) failures_.push_back({spec, {status.code(), lane_text(local, peer) + ": " + status.text()}});
}

void MessageTransport::arrived(std::size_t rail, std::unique_ptr<QueuePair> pair, std::string from) {
  make_room(rail);
  LaneSpec spec;
  spec.local_rail = static_cast<std::uint8_t>(options_.first_rail + rail);
  MessageAdmission& pending =
      add(false, spec, rail, std::move(from), clock_.now() + options_.handshake_timeout, std::move(pair));
  if (const Status status = pending.start(); !status.ok()) finish(pending, status);
}

/// Anybody may connect, but only processes of the job get further: the oldest of the others goes, if there are any.
void MessageTransport::make_room(std::size_t rail) {
  const auto waits = [&](const auto& each) { return !each->over && !each->connecting() && each->rail() == rail; };
  const auto is_silent = [&](const auto& each) { return waits(each) && !each->has_said_hello(); };
  if (static_cast<std::size_t>(std::count_if(pending_.begin(), pending_.end(), waits)) < options_.pending_per_rail) return;
  auto victim = std::find_if(pending_.begin(), pending_.end(), is_silent);
  if (victim == pending_.end()) victim = std::find_if(pending_.begin(), pending_.end(), waits);
  finish(**victim, {Code::refused, "too many connections wait for admission"});
}

void MessageTransport::reached(MessageAdmission& pending) {
  if (pending.connecting()) pending.deadline = std::max(pending.deadline, clock_.now() + options_.admission_time);
}

void MessageTransport::admitted(MessageAdmission& pending) {
  pending.over = true;
  std::string text = lane_text(pending.rail(), pending.peer());
  log_.line(2, "lane up: %s", text.c_str());
  std::unique_ptr<MessageChannel> channel = pending.take_channel();
  MessageChannel& own = *channel;
  auto lane = std::make_unique<MessageLane>(pending.spec(), std::move(channel), std::move(text), options_, clock_, bin_);
  MessageLane& up = *lane;
  own.set_lane(up);
  up.index = lanes_.size();
  lanes_.push_back(std::move(lane));
  up.set_events(admission_.lane_up(up));
}

void MessageTransport::failed(MessageAdmission& pending, const Status& why) {
  if (!pending.over) finish(pending, why);
}

void MessageTransport::finish(MessageAdmission& pending, const Status& why) {
  pending.over = true;
  pending.close();
  const std::string text = lane_text(pending.rail(), pending.peer());
  if (pending.connecting()) return admission_.lane_failed(pending.spec(), {why.code(), text + ": " + why.text()});
  // A flood must not fill the log: only the first, the second, the fourth … is told.
  if (std::has_single_bit(++refusals_))
    log_.line(2, "connection refused, %s: %s (%llu refused so far)", text.c_str(), why.text().c_str(),
              static_cast<unsigned long long>(refusals_));
}

bool MessageTransport::report_failures() {
  const bool any = !failures_.empty();
  for (const Failure& failure : std::exchange(failures_, {})) admission_.lane_failed(failure.spec, failure.why);
  return any;
}

bool MessageTransport::deliver_kept() {
  const bool any = !news_.keeping.empty();
  while (!news_.keeping.empty()) {
    MessageChannel* channel = news_.keeping.back();
    news_.keeping.pop_back();
    channel->deliver();
  }
  return any;
}

/// Afterwards nothing is listed but sends that the transport still has no room for.
bool MessageTransport::look_after_channels() {
  bool any = false;
  for (MessageChannel* channel : std::exchange(news_.stuck, {})) channel->post_again();
  news_.polling = false;
  while (!news_.holding.empty()) {
    MessageChannel* channel = news_.holding.back();
    news_.holding.pop_back();
    channel->flush();
  }
  while (!news_.owing.empty()) {
    MessageChannel* channel = news_.owing.back();
    news_.owing.pop_back();
    channel->settle();
  }
  while (!news_.broken.empty()) {
    MessageChannel* channel = news_.broken.back();
    news_.broken.pop_back();
    channel->tell_broken();
    any = true;
  }
  return any;
}

void MessageTransport::expire() {
  const Nanoseconds now = clock_.now();
  for (std::size_t i = 0; i < pending_.size(); ++i)
    if (!pending_[i]->over && pending_[i]->deadline <= now) finish(*pending_[i], {Code::timed_out, "no answer within the time"});
}

bool MessageTransport::progress(Watch watch) {
  const bool woken = woken_by_data();
  return look(watch == Watch::all || woken ? Watch::all : Watch::rare);
}

bool MessageTransport::admit() {
  news_.admitting = true;
  const bool any = look(Watch::rare);
  news_.admitting = false;
  return any;
}

/// Connections that wait for admission go on by messages, and these come with all others.
bool MessageTransport::look(Watch watch) {
  if (std::exchange(kicked_, false)) {
    std::uint64_t drained = 0;
    [[maybe_unused]] const ssize_t got = read(kick_.get(), &drained, sizeof drained);
  }
  bool any = report_failures();
  news_.polling = true;
  if (!news_.admitting) any |= deliver_kept();
  any |= kind_->poll(watch, *this);
  if (watch == Watch::rare && !pending_.empty()) any |= kind_->poll(Watch::all, *this);
  any |= look_after_channels();
  if (!pending_.empty()) expire();
  std::erase_if(pending_, [](const auto& each) { return each->over; });
  forgotten_.clear();
  return any;
}

/// Ends the arming.
bool MessageTransport::woken_by_data() {
  if (!armed_) return false;
  epoll_event events[4];
  bool woken = false;
  const int count = epoll_wait(rare_.get(), events, 4, 0);
  for (int i = 0; i < count; ++i) woken = woken || events[i].data.fd == all_.get();
  arm(false);
  return woken;
}

void MessageTransport::arm(bool on) const {
  epoll_event event{};
  event.events = EPOLLONESHOT | (on ? EPOLLIN : 0U);
  event.data.fd = all_.get();
  armed_ = epoll_ctl(rare_.get(), EPOLL_CTL_MOD, all_.get(), &event) == 0 && on;
}

void MessageTransport::wake_up() const {
  const std::uint64_t one = 1;
  kicked_ = write(kick_.get(), &one, sizeof one) == sizeof one;
}

void MessageTransport::arm_payload_wakeup() {
  arm(true);
  if (!kind_->may_sleep(Watch::all)) wake_up();
}

void MessageTransport::part() {
  if (!kind_->part()) return;
  for (const auto& pending : pending_) {
    pending->over = true;
    pending->close();
  }
  for (const auto& lane : lanes_) lane->close();
}

bool MessageTransport::sending() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->sending(); });
}

int MessageTransport::wait_fd(Watch watch) const {
  if (watch == Watch::rare && !armed_ && (!pending_.empty() || sending())) arm(true);
  if (!kind_->may_sleep(watch == Watch::rare && !armed_ ? Watch::rare : Watch::all)) wake_up();
  return (watch == Watch::all ? all_ : rare_).get();
}

Nanoseconds MessageTransport::next_deadline() const {
  if (!failures_.empty() || !news_.keeping.empty() || (!news_.stuck.empty() && kind_->may_post())) return 1;
  Nanoseconds next = kind_->next_deadline();
  for (const auto& pending : pending_) next = sooner(next, pending->deadline);
  return next;
}

void MessageTransport::forget(Lane& lane) {
  auto& gone = static_cast<MessageLane&>(lane);
  gone.close();
  const std::size_t index = gone.index;
  forgotten_.push_back(std::move(lanes_[index]));
  if (index + 1 < lanes_.size()) {
    lanes_[index] = std::move(lanes_.back());
    lanes_[index]->index = index;
  }
  lanes_.pop_back();
}

std::unique_ptr<Transport> make_message_transport(std::unique_ptr<MessageKind> kind, const MessageOptions& options,
                                                  const Clock& clock, Log log, Admission& admission, ProcessId self, Status* why) {
  auto transport = std::make_unique<MessageTransport>(std::move(kind), options, clock, log, admission, self);
  Status status = transport->open();
  const bool ok = status.ok();
  if (why != nullptr) *why = std::move(status);
  if (!ok) return nullptr;
  return transport;
}

}  // namespace nezha
