// SPDX-License-Identifier: BSD-3-Clause
/// Two transports over a network of messages that is memory of the test. It is as unkind as the contract of queue_pair.h permits:
/// sends are read late, completions come after the message, and posts are refused now and then.
#pragma once

#include <sys/eventfd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "rail/message/message.h"
#include "rail/message/message_transport.h"
#include "random_bytes.h"
#include "tcp_pair.h"

namespace nezha::test {

class FakeKind;

/// What both sides share.
struct FakeFabric {
  std::vector<FakeKind*> sides;
  bool silent = false;       ///< nothing arrives
  bool tells_kernels = false;  ///< that of the other side is known to have answered before its process does
  unsigned refuse_every = 0;  ///< of so many posts one is put off; 0: none
  unsigned posts = 0;  ///< of sends
  unsigned lose_in = 0;  ///< of the messages with contents from now on the one of this number is lost; 0: none
  std::size_t copied = 0;  ///< messages of so many bytes are copied when they are posted
  bool lends = false;      ///< memory is sent from where it lies
  std::uint32_t shared = 0;  ///< receives that all pairs of a side share; 0: they have their own
  unsigned not_ready = 0;  ///< messages that found no receive posted
};

class FakePair final : public QueuePair {
 public:
  FakePair(FakeFabric& fabric, FakeKind& side);
  ~FakePair() override { close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override;
  Status start() override {
    started_ = true;
    return {};
  }
  Status post_receive(std::uint32_t slot) override;
  std::uint32_t shared_receives() const override;
  std::span<const std::byte> shared_slot(std::uint32_t slot) const override;
  Lent lend(std::span<const std::byte> bytes, std::size_t) override { return {fabric_.lends ? bytes : bytes.first(0), nullptr}; }
  Posted post_lent(std::uint32_t slot, std::size_t size, const Lent& lent) override {
    under_way_.push_back({slot, size, {}, lent.bytes});
    ring_other();
    return Posted::yes;
  }
  Posted post_send(std::uint32_t slot, std::size_t size) override {
    ++fabric_.posts;
    if (refuses || (fabric_.refuse_every != 0 && fabric_.posts % fabric_.refuse_every == 0)) return Posted::later;
    const bool copied = size <= fabric_.copied;
    const std::span<const std::byte> message = slots_.at(slot).first(size);
    under_way_.push_back({slot, size, copied ? std::vector(message.begin(), message.end()) : std::vector<std::byte>{}, {}});
    ring_other();
    if (copied) std::fill_n(slots_.at(slot).begin(), size, std::byte{0xdd});
    return copied ? Posted::copied : Posted::yes;
  }
  void close() override;

  bool poll();
  const Slots& slots() const { return slots_; }
  /// A message that no channel has sent.
  void forge(const std::vector<std::byte>& message) { forged_.push_back(message); }

  FakePair* other = nullptr;
  bool gone = false;     ///< the other one is
  bool refuses = false;  ///< all posts are put off

 private:
  struct Message {
    std::uint32_t slot;
    std::size_t size;
    std::vector<std::byte> copy;  ///< empty: it is still in the slot
    std::span<const std::byte> lent;
  };

  void ring_other() const;
  bool deliver();
  std::deque<std::uint32_t>& posted();
  std::span<std::byte> receiving(std::uint32_t slot);

  FakeFabric& fabric_;
  FakeKind& side_;
  Slots slots_;
  QueuePairEvents* events_ = nullptr;
  bool started_ = false, reached_ = false, up_ = false, closed_ = false;
  std::deque<std::uint32_t> posted_, read_;
  std::deque<Message> under_way_;
  std::deque<std::vector<std::byte>> forged_;
};

class FakeKind final : public MessageKind {
 public:
  FakeKind(FakeFabric& fabric, std::size_t rails) : fabric_(fabric) {
    for (std::size_t i = 0; i < rails; ++i) {
      RailAddress& rail = rails_.emplace_back();
      rail.transport = "fake";
      rail.name = std::to_string(i);
      rail.place = {static_cast<std::byte>(fabric.sides.size())};
    }
    fabric.sides.push_back(this);
  }

  ~FakeKind() override { std::replace(fabric_.sides.begin(), fabric_.sides.end(), this, static_cast<FakeKind*>(nullptr)); }

  std::span<const RailAddress> rails() const override { return rails_; }
  std::string where(const RailAddress&) const override { return "the test"; }
  Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) override {
    const std::size_t place = remote.place.size() == 1 ? std::to_integer<std::size_t>(remote.place[0]) : fabric_.sides.size();
    if (place >= fabric_.sides.size() || fabric_.sides[place] == nullptr) return {Code::bad_peer, "nobody is there"};
    auto here = std::make_unique<FakePair>(fabric_, *this);
    FakeKind& there = *fabric_.sides[place];
    auto arriving = std::make_unique<FakePair>(fabric_, there);
    here->other = arriving.get();
    arriving->other = here.get();
    there.incoming_.push_back({rail, std::move(arriving)});
    made = std::move(here);
    return {};
  }
  bool poll(Watch, MessageArrivals& arrivals) override {
    eventfd_t rung;
    eventfd_read(fds_[1].get(), &rung);
    bool any = !incoming_.empty();
    for (auto& [rail, pair] : std::exchange(incoming_, {})) arrivals.arrived(rail, std::move(pair), "the test");
    for (std::size_t i = 0; i < pairs.size(); ++i) any |= pairs[i]->poll();
    return any;
  }
  int fd(Watch watch) const override { return fds_[watch == Watch::all].get(); }
  bool may_sleep(Watch) override { return true; }
  /// There is something for poll().
  void ring() { eventfd_write(fds_[1].get(), 1); }

  std::vector<FakePair*> pairs;
  std::vector<std::vector<std::byte>> shared;  ///< slots
  std::deque<std::uint32_t> posted;            ///< of them

 private:
  FakeFabric& fabric_;
  std::array<Fd, 2> fds_{Fd(eventfd(0, EFD_CLOEXEC)), Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
  std::vector<RailAddress> rails_;
  std::vector<std::pair<std::size_t, std::unique_ptr<FakePair>>> incoming_;
};

inline FakePair::FakePair(FakeFabric& fabric, FakeKind& side) : fabric_(fabric), side_(side) { side.pairs.push_back(this); }

inline Status FakePair::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  for (auto& all = side_.shared; all.size() < fabric_.shared; all.emplace_back(slots.size))
    side_.posted.push_back(static_cast<std::uint32_t>(all.size()));
  return {};
}

inline Status FakePair::post_receive(std::uint32_t slot) {
  posted().push_back(slot);
  return {};
}

inline std::uint32_t FakePair::shared_receives() const {
  return fabric_.shared == 0 ? 0 : std::max(fabric_.shared / static_cast<std::uint32_t>(side_.pairs.size()), 1U);
}

inline std::span<const std::byte> FakePair::shared_slot(std::uint32_t slot) const { return side_.shared.at(slot); }

inline std::deque<std::uint32_t>& FakePair::posted() { return fabric_.shared == 0 ? posted_ : side_.posted; }

inline std::span<std::byte> FakePair::receiving(std::uint32_t slot) {
  return fabric_.shared == 0 ? slots_.at(slot) : std::span(side_.shared.at(slot));
}

inline void FakePair::close() {
  if (std::exchange(closed_, true)) return;
  if (other != nullptr) other->gone = true, other->other = nullptr;
  other = nullptr;
  std::erase(side_.pairs, this);
}

inline void FakePair::ring_other() const {
  if (other != nullptr) other->side_.ring();
}

inline bool FakePair::poll() {
  if (!started_ || closed_) return false;
  if (!up_ && fabric_.tells_kernels && !std::exchange(reached_, true)) {
    events_->reached();
    return true;
  }
  if (!up_ && other != nullptr && other->started_) {
    up_ = true;
    events_->connected();
    return true;
  }
  if (up_ && deliver()) return true;
  if (!closed_ && !read_.empty()) {
    const std::uint32_t slot = read_.front();
    read_.pop_front();
    events_->sent(slot);
    return true;
  }
  if (closed_ || !gone || fabric_.silent) return false;
  gone = false;
  events_->broken({Code::closed, "the other side has closed it"});
  return true;
}

/// One message; its sender hears of that later.
inline bool FakePair::deliver() {
  if (fabric_.silent || other == nullptr || (forged_.empty() && other->under_way_.empty())) return false;
  if (posted().empty()) {
    ++fabric_.not_ready;
    return false;
  }
  if (forged_.empty() && fabric_.lose_in != 0 && other->under_way_.front().size > kMessageHeader && --fabric_.lose_in == 0) {
    if (other->under_way_.front().copy.empty()) other->read_.push_back(other->under_way_.front().slot);
    other->under_way_.pop_front();
    return true;
  }
  const std::uint32_t slot = posted().front();
  posted().pop_front();
  std::size_t size = 0;
  if (!forged_.empty()) {
    size = forged_.front().size();
    std::copy(forged_.front().begin(), forged_.front().end(), receiving(slot).begin());
    forged_.pop_front();
  } else {
    const Message message = std::move(other->under_way_.front());
    size = message.size;
    other->under_way_.pop_front();
    const std::byte* from = message.copy.empty() ? other->slots_.at(message.slot).data() : message.copy.data();
    std::copy_n(from, size, receiving(slot).begin());
    std::copy(message.lent.begin(), message.lent.end(), receiving(slot).subspan(size).begin());
    size += message.lent.size();
    if (message.copy.empty()) other->read_.push_back(message.slot);
  }
  events_->received(slot, size);
  return true;
}

/// Two processes with one rail each.
class MessagePair : public testing::Test {
 protected:
  explicit MessagePair(const MessageOptions& given = {}) : options(given) {
    a.known = b.self, b.known = a.self;
    open(a);
    open(b);
  }
  void open(Side& side) {
    auto kind = std::make_unique<FakeKind>(fabric, 1);
    kinds.push_back(kind.get());
    side.transport = make_message_transport(std::move(kind), options, clock, Log(Side::write_line, &side, 2), side, side.self,
                                            &side.why);
  }
  void connect(Nanoseconds within = kSecond) {
    a.transport->connect({b.self, 0, 0, false}, 0, b.transport->rails()[0], clock.now() + within);
  }
  [[nodiscard]] bool join() {
    connect();
    return drive([&] { return !a.lanes.empty() && !b.lanes.empty(); }, a, b);
  }
  FrameLog::Frame random_frame(std::size_t header, std::size_t payload) {
    return {random_contents(random, header), random_contents(random, payload)};
  }
  FrameLog& at_a() { return *a.logs.back(); }
  FrameLog& at_b() { return *b.logs.back(); }
  Lane& lane_a() { return *a.lanes.back(); }
  Lane& lane_b() { return *b.lanes.back(); }

  HandClock clock;
  MessageOptions options;
  FakeFabric fabric;
  Random random{5};
  std::vector<FakeKind*> kinds;
  Side a{11}, b{22};
};

}  // namespace nezha::test
