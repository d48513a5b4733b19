// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core.h"

#include <algorithm>

#include "engine/memory.h"
#include "engine/sampling.h"
#include "engine/secret.h"

namespace nezha {
namespace {

constexpr Nanoseconds kSampleTick = 500 * kMicrosecond;
constexpr Nanoseconds kListenEvery = 4 * kMillisecond;
constexpr Nanoseconds kBuffersIdle = kSecond;  ///< unused for so long, at most twice that, buffers are released
constexpr double kMbps = 1e6 / 8 / 1e9;        ///< in bytes per nanosecond

}  // namespace

Core::Core(const Config& config, const Clock& clock, const Log& log, std::uint32_t job_rank, std::string node,
           ProcessId id, const Secret& key)
    : config_(config),
      clock_(clock),
      log_(log),
      tables_(config.table, job_rank == 0 ? config.table_save : FilePath(), node),
      wiring_(
          id, config.connect_timeout * kSecond,
          [this](const Peer& peer, const Wire& wire, Nanoseconds deadline) { connect(peer, wire, deadline); }, log_,
          notices_) {
  self_.id = id;
  self_.job_rank = job_rank;
  self_.node = std::move(node);
  self_.key = key;
  self_.window = config.window;
  if (!config.aggregators.empty()) aggregators_ = std::make_unique<Aggregators>(*this);
}

Core::~Core() {
  for (Peer* peer : open_) peer->trunk->close();
}

void Core::add_transport(std::unique_ptr<Transport> transport) {
  for (const RailAddress& rail : transport->rails()) add_rail(*transport, rail);
  if (const Loopback loopback = transport->loopback(); loopback_ == nullptr && loopback.network != 0) {
    loopback_ = transport.get();
    self_.loopback = loopback;
  }
  transports_.push_back(std::move(transport));
}

void Core::add_rail(Transport& transport, const RailAddress& rail) {
  const auto others =
      std::count_if(places_.begin(), places_.end(), [&](const Place& p) { return p.transport == &transport; });
  places_.push_back({&transport, static_cast<std::size_t>(others)});
  RailLoad& load = loads_.emplace_back();
  load.weight = config_.share.weight(rail.name);
  load.nominal = rail.speed_mbps * kMbps;
  self_.rails.push_back(rail);
}

void Core::employ(std::size_t rail, RailWorker& worker) { places_[rail].transport->employ(places_[rail].rail, worker); }

void Core::employ_service(RailWorker& service) {
  for (const auto& transport : transports_) transport->employ_service(service);
}

std::vector<std::string> Core::unknown_shares() const {
  std::vector<std::string> unknown;
  for (const ShareList::Entry& entry : config_.share.entries)
    if (std::none_of(self_.rails.begin(), self_.rails.end(),
                     [&](const RailAddress& r) { return r.name == entry.rail; }))
      unknown.push_back(entry.rail);
  return unknown;
}

TrunkOptions Core::trunk_options(std::uint64_t peer_window) const {
  TrunkOptions options;
  options.retransmit_memory = retransmit_memory(open_.size() + 1);
  options.early_window = config_.window;
  options.peer_window = static_cast<std::size_t>(peer_window);
  options.checksum = config_.checksum;
  return options;
}

Peer* Core::add_peer(std::span<const std::byte> bytes, bool same_node, Status& why) {
  auto peer = std::make_unique<Peer>();
  why = decode_address(bytes, peer->address);
  if (!why.ok()) return nullptr;
  if (const auto known = peers_.find(peer->address.id); known != peers_.end()) return known->second.get();
  peer->secret = pair_secret(self_, peer->address);
  peer->same_node = same_node && !live_apart(self_.loopback, peer->address.loopback);
  return add(std::move(peer));
}

Peer* Core::add(std::unique_ptr<Peer> peer) {
  const ProcessId id = peer->address.id;
  const Address& other = peer->address;
  peer->connects = self_.job_rank != other.job_rank ? self_.job_rank < other.job_rank : self_.id < id;  // two aggregators
  return peers_.emplace(id, std::move(peer)).first->second.get();
}

void Core::open(Peer& peer) {
  if (peer.trunk) return;
  TrunkOptions options = trunk_options(peer.address.window);
  options.cork = &cork_;
  options.busy = &busy_;
  if (peer.address.job_rank != kNoRank) options.number = numbered_++;
  open_.push_back(&peer);
  try {
    peer.trunk = std::make_unique<Trunk>(peer.address.id, options, TrunkOwner{*this, *this, *this}, clock_, log_);
    peer.untold = moved_;
    wire_up(peer, false);
  } catch (...) {  // nobody shall meet one without its lanes
    open_.pop_back();
    peer.trunk.reset();
    peer.wires.clear();
    throw;
  }
}

Links::Need Core::need() {
  return [this](Peer& peer) {
    open(peer);
    wiring_.want(peer, clock_.now());
  };
}

Nanoseconds Core::wiring_patience() const { return config_.connect_timeout * kSecond + kSamplePatience + kSecond; }

std::unique_ptr<Team> Core::plan_team(std::string name, int rank, std::vector<Peer*> peers, OpNumber before,
                                      bool within_node) {
  const Nanoseconds until = clock_.now() + wiring_patience();
  return std::make_unique<Team>(std::move(name), rank, std::move(peers), self_, until, buffers_, before, within_node);
}

Team* Core::add_team(std::unique_ptr<Team> team) {
  const Plan plan = Plan::from(config_);
  const Links::Need need = this->need();
  for (Peer* peer : team->would_need(plan)) need(*peer);  // counterparts of other nodes too, which calls need much later
  team->link(plan, need);
  if (aggregators_ && !find_aggregators_ && !team->within_node()) aggregators_->begin();
  team->memory_descriptors = descriptors_of_memory(*team);
  setting_up_.add(*team);
  return teams_.emplace_back(std::move(team)).get();
}

void Core::destroy_team(Team& team) {
  keep_table(team);
  if (team.active()) fail(team, failure_of(team, Failure::Why::gone), "the communicator is gone");
  std::erase(climbing_, &team);
  for (MarkedSet<Team>* const set : {&setting_up_, &active_, &sharing_}) set->remove(team);
  if (team.hierarchy() != nullptr) shared_before_ += team.hierarchy()->times();
  for (Stars::Index i = 0; team.stars() != nullptr && i < Stars::kMost; ++i) leave_star(team, i);
  std::vector<TeamId> ids{team.id()};
  if (const Hierarchy* hierarchy = team.hierarchy())
    for (const TeamId id : hierarchy->ids()) ids.push_back(id);
  if (team.small() != nullptr) ids.push_back(team.small()->id());
  for (const TeamId id : ids) ready_.remove(id);
  for (const int rank : team.needed()) {
    if (team.id() == 0) break;
    for (const TeamId id : ids) team.peer(rank).trunk->forget_team(id);
  }
  const auto gone = std::find_if(teams_.begin(), teams_.end(), [&](const auto& other) { return other.get() == &team; });
  std::unique_ptr<Team> last = std::move(*gone);
  teams_.erase(gone);
  let_part(std::move(last));
}

OpNumber Core::start(Team& team, const Call& call, AlgorithmChoice choice, bool more) {
  wiring_.used(clock_.now());
  active_.add(team);
  cork_.begin();
  OpNumber number = 0;
  try {
    number = team.start(call, choice);
  } catch (...) {
    cork_.end(true);
    throw;
  }
  cork_.end(more);
  return number;
}

void Core::leave_to_incumbent(Team& team, std::size_t bytes) {
  team.leave_to_incumbent(bytes);
  if (doubts_) settle_doubts();
}

/// Calls look(), which has transports tell what is new, and does what is not to be done from within.
template <typename Look>
bool Core::look(const Look& look) {
  bool moved = false;
  cork_.begin();
  try {
    moved = look();
  } catch (...) {
    cork_.end(true);
    throw;
  }
  cork_.end();
  for (const auto& [lane, transport] : dead_) transport->forget(*lane);
  dead_.clear();
  if (!news_.empty()) take_news();
  if (doubts_) settle_doubts();
  busy_.each([](Trunk& trunk) {
    if (trunk.has_queued()) trunk.pump();
  });
  return moved;
}

bool Core::progress(Watch watch) {
  return look([&] {
    bool moved = false;
    for (const auto& transport : transports_) moved = transport->progress(watch) || moved;
    if (!climbing_.empty()) moved = climb() || moved;
    return moved;
  });
}

bool Core::wire(Nanoseconds now) {
  wiring_.step(now);
  refresh_loads(now);  // of what is sampled: no acks come, but kernels tell
  step_samples(now);
  if (joins_memory(now)) join_memory(now);
  return look([&] {
    bool moved = false;
    for (const auto& transport : transports_) moved = transport->admit() || moved;
    return moved;
  });
}

void Core::step(Nanoseconds now) {
  wiring_.step(now);
  if (now - listened_ >= kListenEvery && listening()) {
    listened_ = now;
    refresh_loads(now);
    busy_.each([now](Trunk& trunk) { trunk.listen(now); });
    busy_.let_go(now);
  }
  for (RailLoad& load : loads_)
    if (const Nanoseconds due = load.look_due(); due != 0 && now >= due) load.refresh(now, 0);
  share_memory(now);
  if (aggregators_) aggregators_->step(now);
  watch_life(now);
  step_buffers(now);
  std::erase_if(parting_, [now](const Parting& parting) { return parting.team->small()->parted(now >= parting.until); });
  step_samples(now);
}

void Core::refresh_loads(Nanoseconds now) {
  for (RailLoad& load : loads_) load.refresh(now, kListenEvery);
  loopback_load_.refresh(now, kListenEvery);
}

void Core::step_buffers(Nanoseconds now) {
  if (buffers_due_ != 0 && now >= buffers_due_) {
    buffers_.release_unused();
    buffers_due_ = 0;
  }
  if (buffers_due_ == 0 && buffers_.excess()) buffers_due_ = now + kBuffersIdle;
}

/// Something was handed to a lane that is not known to have come to its other end.
bool Core::listening() const {
  const auto loaded = [](const RailLoad& load) { return !load.loaded.empty() || load.suspects != 0; };
  return loaded(loopback_load_) || std::any_of(loads_.begin(), loads_.end(), loaded);
}

bool Core::settle() {
  refresh_loads(clock_.now());
  bool outstanding = listening();
  busy_.each([&](Trunk& trunk) {
    trunk.send_acks();
    outstanding = outstanding || trunk.outstanding();
  });
  busy_.let_go(clock_.now());
  return outstanding;
}

/// What an aggregation service has not acknowledged it has no more use for.
bool Core::owes() {
  bool owes = false;
  busy_.each([&](const Trunk& trunk) {
    owes = owes || (trunk.number() != kNoNumber && trunk.lanes_up() != 0 && trunk.outstanding());
  });
  return owes;
}

void Core::show_life() {
  for (const Peer* peer : open_)
    if (peer->trunk->lanes_up() != 0) peer->trunk->show_life();
}

void Core::arm_payload_wakeup() {
  for (const auto& transport : transports_) transport->arm_payload_wakeup();
}

Nanoseconds Core::next_due() const {
  if (setting_up()) return clock_.now() + kSampleTick;
  Nanoseconds due = wiring_.next_due();
  if (listening()) due = sooner(due, listened_ + kListenEvery);
  for (const RailLoad& load : loads_) due = sooner(due, load.look_due());
  for (const auto& transport : transports_) due = sooner(due, transport->next_deadline());
  if (!active_.empty()) due = sooner(due, life_due_);
  due = sooner(due, buffers_due_);
  for (const Parting& parting : parting_) due = sooner(due, parting.until);
  if (aggregators_) due = sooner(due, aggregators_->next_due());
  return due;
}

}  // namespace nezha
