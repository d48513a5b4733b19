// SPDX-License-Identifier: BSD-3-Clause
#include "rail/sim/transport.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nezha {
namespace {

/// For the other process, once its kernel has answered.
constexpr Nanoseconds kAdmissionTime = 750 * kMillisecond;

}  // namespace

/// One try to connect. Both processes hold it, and so do the events about it.
struct SimTransport::Attempt {
  LaneSpec spec;  ///< as the connecting side sees it
  ProcessId from;
  SimPort& local;
  SimPort& remote;
  std::shared_ptr<SimStream> there, back;
  bool knows = false;  ///< the other side's kernel has had it
  bool over = false;   ///< for the connecting side
  std::array<std::uint8_t, 32> secret{};  ///< of the pair, as the connecting side knew it

  LaneSpec mirrored() const { return {from, spec.remote_rail, spec.local_rail, spec.same_node, spec.connection}; }
};

SimTransport::SimTransport(SimNetwork& network, const Clock& clock, ProcessId self, std::vector<SimPort*> ports,
                           Admission& admission, std::function<void()> on_work, SimPort* loopback)
    : network_(network), clock_(clock), self_(self), ports_(std::move(ports)), loopback_(loopback), admission_(admission),
      on_work_(std::move(on_work)) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    RailAddress& rail = rails_.emplace_back();
    rail.transport = "sim";
    rail.name = ports_[i]->options().name;
    rail.network = {std::byte{ports_[i]->options().network}};
    rail.place = {static_cast<std::byte>(i)};
    rail.speed_mbps = ports_[i]->options().speed_mbps;
  }
  network_.join(self_, *this);
}

Loopback SimTransport::loopback() const {
  if (loopback_ == nullptr) return {};
  RailAddress address;
  address.transport = "sim";
  address.name = loopback_->options().name;
  address.place = {std::byte{kLoopbackRail}};
  return {loopback_->options().network + std::uint64_t{1}, address};
}

std::string SimTransport::where(const RailAddress& rail) const {
  return rail.place.size() == 1 ? "port " + std::to_string(std::to_integer<int>(rail.place[0])) : "?";
}

SimTransport::~SimTransport() { network_.leave(self_); }

void SimTransport::connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) {
  SimTransport* peer = network_.find(spec.peer);
  const bool there = peer != nullptr && peer->has(remote);
  SimPort& port = there ? peer->port_of(std::to_integer<std::size_t>(remote.place[0])) : port_of(local);
  const auto attempt = std::make_shared<Attempt>(Attempt{spec, self_, port_of(local), port, nullptr, nullptr, false});
  attempt->spec.connection = self_ << 32 | ++attempts_;
  if (const auto* secret = admission_.secret(spec.peer); secret != nullptr) attempt->secret = *secret;
  attempt->there = std::make_shared<SimStream>(network_, attempt->local, attempt->remote);
  attempt->back = std::make_shared<SimStream>(network_, attempt->remote, attempt->local);
  expire_after(network_, attempt, deadline - clock_.now());
  if (!there || network_.random().chance(network_.options().refusal)) {
    tell(network_, attempt, self_, &SimTransport::refused);
  } else {
    tell(network_, attempt, spec.peer, &SimTransport::connect_arrived);
  }
}

bool SimTransport::has(const RailAddress& rail) const {
  if (rail.place.size() != 1) return false;
  const auto number = std::to_integer<std::size_t>(rail.place[0]);
  return number < ports_.size() || (number == kLoopbackRail && loopback_ != nullptr);
}

void SimTransport::expire_after(SimNetwork& network, const Shared& attempt, Nanoseconds time) {
  network.after(time, [&network, attempt] {
    if (attempt->knows && attempt->back->open()) {
      attempt->knows = false;
      return expire_after(network, attempt, kAdmissionTime);
    }
    if (SimTransport* self = network.find(attempt->from)) {
      self->inbox_.emplace_back([self, attempt] { self->too_late(attempt); });
      self->wake();
    }
  });
}

void SimTransport::tell(SimNetwork& network, const Shared& attempt, ProcessId to,
                        void (SimTransport::*what)(const Shared&)) {
  SimPort& from = to == attempt->from ? attempt->remote : attempt->local;
  SimPort& at = to == attempt->from ? attempt->local : attempt->remote;
  const Nanoseconds now = network.now();
  network.after(std::max(now, from.free_at()) - now, [&network, &from, &at, attempt, to, what] {
    const Nanoseconds there = at.receive(network.now() + from.options().delay / 2 + at.options().delay / 2, 0);
    network.after(there - network.now(), [&network, attempt, to, what] { arrive(network, attempt, to, what); });
  });
}

void SimTransport::arrive(SimNetwork& network, const Shared& attempt, ProcessId to,
                          void (SimTransport::*what)(const Shared&)) {
  SimTransport* transport = network.find(to);
  const SimStream& way = to == attempt->from ? *attempt->back : *attempt->there;
  if (transport == nullptr || !way.open()) return;  // the deadline will tell
  attempt->knows = true;
  transport->inbox_.emplace_back([transport, what, attempt] { (transport->*what)(attempt); });
  transport->wake();
}

bool SimTransport::admits(const Attempt& attempt) const {
  const auto* secret = admission_.secret(attempt.from);
  return secret != nullptr && *secret == attempt.secret && admission_.expects(attempt.mirrored());
}

void SimTransport::connect_arrived(const Shared& attempt) {
  tell(network_, attempt, attempt->from, admits(*attempt) ? &SimTransport::challenged : &SimTransport::refused);
}

void SimTransport::challenged(const Shared& attempt) {
  if (attempt->over) return;
  if (!admission_.wants(attempt->spec)) return give_up(attempt, Code::refused, "the lane that was silent answers again");
  tell(network_, attempt, attempt->spec.peer, &SimTransport::proved);
}

void SimTransport::proved(const Shared& attempt) {
  if (!admits(*attempt)) return tell(network_, attempt, attempt->from, &SimTransport::refused);
  open_lane(attempt->mirrored(), attempt->remote, attempt->back, attempt->there);
  tell(network_, attempt, attempt->from, &SimTransport::answered);
}

void SimTransport::answered(const Shared& attempt) {
  if (attempt->over) return;
  const auto* secret = admission_.secret(attempt->spec.peer);
  if (secret == nullptr || *secret != attempt->secret) return give_up(attempt, Code::refused, "the process is not known any more");
  attempt->over = true;
  open_lane(attempt->spec, attempt->local, attempt->there, attempt->back);
}

void SimTransport::refused(const Shared& attempt) { give_up(attempt, Code::refused, "the peer refused"); }

void SimTransport::too_late(const Shared& attempt) { give_up(attempt, Code::timed_out, "no answer in time"); }

void SimTransport::give_up(const Shared& attempt, Code code, const char* why) {
  if (std::exchange(attempt->over, true)) return;
  attempt->there->end();  // in case that the peer has opened its end
  attempt->back->abandon();
  admission_.lane_failed(attempt->spec, {code, why});
}

LaneEvents& SimTransport::open_lane(const LaneSpec& spec, SimPort& port, std::shared_ptr<SimStream> out,
                                    std::shared_ptr<SimStream> in) {
  auto lane = std::make_unique<SimLane>(spec, self_, network_, port, std::move(out), std::move(in), *this);
  SimLane& up = *lane;
  up.serial = ++serial_;
  lanes_.push_back(std::move(lane));
  LaneEvents& events = admission_.lane_up(up);
  up.set_events(events);
  network_.trace(up.serial);
  return events;
}

bool SimTransport::admit() {
  const bool any = !inbox_.empty();
  while (!inbox_.empty()) {
    const std::function<void()> what = std::move(inbox_.front());
    inbox_.pop_front();
    what();
  }
  return any;
}

bool SimTransport::progress(Watch watch) {
  bool any = admit();
  const bool all = watch == Watch::all || payload_wakes_;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    any = (all ? lanes_[i]->progress() : lanes_[i]->progress_rare()) || any;
  if (any) payload_wakes_ = false;
  return any;
}

void SimTransport::forget(Lane& lane) {
  std::erase_if(lanes_, [&](const auto& other) { return other.get() == &lane; });
}

void SimTransport::set_up(std::size_t index, bool up) {
  SimPort& port = *ports_[index];
  if (port.up() == up) return;
  port.set_up(up);
  if (up) return back_later(index);
  notice_later(port);
  std::vector<ProcessId> told;  // a peer may have several lanes through this port
  for (const auto& lane : lanes_) {
    const ProcessId peer = lane->spec().peer;
    if (&lane->port() != &port || std::find(told.begin(), told.end(), peer) != told.end()) continue;
    told.push_back(peer);
    if (SimTransport* other = network_.find(peer)) other->notice_later(port);
  }
}

/// Every end here of a lane through the port that went down finds out after a time of its own.
void SimTransport::notice_later(const SimPort& down) {
  const SimOptions& options = network_.options();
  for (const auto& lane : lanes_) {
    if (!lane->alive() || !lane->through(down)) continue;
    const Nanoseconds delay = network_.random().between(options.notice_min, options.notice_max);
    network_.after(delay, [&network = network_, id = self_, serial = lane->serial, &down, outage = down.outages()] {
      if (SimTransport* self = network.find(id)) self->break_serial(serial, down, outage);
    });
  }
}

void SimTransport::back_later(std::size_t index) {
  const SimOptions& options = network_.options();
  const Nanoseconds delay = network_.random().between(options.notice_min, options.notice_max);
  network_.after(delay, [&network = network_, id = self_, index, outage = ports_[index]->outages()] {
    SimTransport* self = network.find(id);
    if (self == nullptr || !self->ports_[index]->up() || self->ports_[index]->outages() != outage) return;
    self->inbox_.emplace_back([self, index] { self->admission_.rail_back(static_cast<std::uint8_t>(index), self->rails_[index]); });
    self->wake();
  });
}

void SimTransport::break_serial(std::uint64_t serial, const SimPort& down, std::uint64_t outage) {
  if (down.up() || down.outages() != outage) return;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i]->serial == serial) lanes_[i]->break_off("the network is gone", true);
}

void SimTransport::break_lane(std::size_t index, bool linger, Nanoseconds slower) {
  lanes_[index]->break_off("a simulated error", linger, linger ? slower : 0);
}

void SimTransport::cut_lanes(std::size_t port) {
  for (const auto& lane : lanes_)
    if (&lane->port() == ports_[port]) lane->cut();
}

void SimTransport::reset_cut_lanes() {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i]->is_cut()) lanes_[i]->break_off("reset by the other side", false);
}

void SimTransport::duplicate(const SimLane& lane, std::vector<std::byte> frame) {
  for (const auto& other : lanes_) {
    if (other.get() == &lane || other->spec().peer != lane.spec().peer || !other->alive() || other->busy()) continue;
    return other->repeat(std::move(frame));
  }
}

std::size_t SimTransport::lanes_alive() const {
  return static_cast<std::size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->alive(); }));
}

}  // namespace nezha
