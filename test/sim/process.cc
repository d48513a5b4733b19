// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include <algorithm>
#include <utility>

#include "rail/message/message_transport.h"
#include "rail/sim/random.h"
#include "world.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kTick = 10 * kMillisecond;
constexpr Nanoseconds kShortestNap = 500 * kMicrosecond;  ///< of the service
constexpr Nanoseconds kShortest = 100 * kMicrosecond;  ///< between two looks of a caller that waits
constexpr Nanoseconds kPatience = 2 * kMillisecond;    ///< idle time after which a caller sends acks on their own

}  // namespace

Process::Process(World& world, int rank)
    : world_(world),
      rank_(rank),
      clock_(world.network(), world.setting().clocks[static_cast<std::size_t>(rank)]),
      system_(world, rank),
      teams_(world.program().teams.size()),
      aggregators_(world.setting().aggregators.size()),
      greet_at_(aggregators_.size()),
      waker_(world.network(), [this] { look(); }) {
  const Setting& setting = world.setting();
  const auto at = static_cast<std::size_t>(rank);
  Config config = setting.config;
  config.window = setting.windows[at];
  if (!setting.mesh_peers.empty()) config.mesh_peers = setting.mesh_peers[at];
  core_ = std::make_unique<Core>(config, clock_, world.log(rank), static_cast<std::uint32_t>(rank), setting.nodes[at],
                                 id(), Secret{});
  // Aggregators go through teams by id, so ids have to come from the seed.
  core_->draw_ids_from([random = SimRandom(setting.seed ^ id() << 32)](TeamId& drawn) mutable {
    drawn = random.next();
    return Status{};
  });
  core_->find_aggregators_by([this] { return aggregators_; });
  if (const Sharing& sharing = setting.sharing; sharing.any) {
    SharingOptions options = sharing.options;
    options.system = &system_;
    core_->share_by(options);
    core_->set_near(setting.near(rank));
    const Status acceptor = sharing.refuses(rank, Refusal::listening) ? Status{} : core_->open_acceptor();
    if (!acceptor.ok()) world.fail(acceptor.text());
  }
  add_rails();
  for (int thread = 0; thread < setting.shape.threads; ++thread)
    callers_.push_back(std::make_unique<Caller>(world, *this, thread));
}

void Process::add_rails() {
  std::vector<SimPort*> streams, queues;
  for (SimPort* port : world_.ports(rank_)) (port->options().queues ? queues : streams).push_back(port);
  auto transport = std::make_unique<SimTransport>(world_.network(), clock_, id(), streams, *core_, [this] { wake(); },
                                                  world_.loopback(rank_));
  transport_ = transport.get();
  core_->add_transport(std::move(transport));
  if (queues.empty()) return;
  auto kind = std::make_unique<SimQueueKind>(world_.queues(), id(), queues, [this] { wake(); });
  queues_ = kind.get();
  MessageOptions options = world_.setting().messages;
  options.first_rail = streams.size();
  Status why;
  auto messages = make_message_transport(std::move(kind), options, clock_, world_.log(rank_), *core_, id(), &why);
  if (!messages) return world_.fail(why.text());
  core_->add_transport(std::move(messages));
}

void Process::begin() {
  const Setting& setting = world_.setting();
  for (int rank = 0; rank < setting.shape.ranks; ++rank) {
    Status why;
    Peer* peer = nullptr;
    if (rank != rank_) {
      const bool same_node = setting.nodes[static_cast<std::size_t>(rank)] == setting.nodes[static_cast<std::size_t>(rank_)];
      peer = core_->add_peer(encode_address(world_.process(rank).core().self()), same_node, why);
    }
    if (!why.ok()) world_.fail(why.text());
    peers_.push_back(peer);
  }
  wake();
}

Team* Process::create_team(std::size_t index) {
  const TeamSpec& spec = world_.program().teams[index];
  std::vector<Peer*> peers;
  int own = 0;
  for (std::size_t rank = 0; rank < spec.members.size(); ++rank) {
    peers.push_back(peers_[static_cast<std::size_t>(spec.members[rank])]);
    if (spec.members[rank] == rank_) own = static_cast<int>(rank);
  }
  ticking_ = true;
  return teams_[index] = core_->create_team(spec.name, own, std::move(peers), world_.setting().operations_before,
                                              spec.within_node);
}

void Process::destroy_team(std::size_t index) {
  core_->destroy_team(*teams_[index]);
  teams_[index] = nullptr;
}

void Process::end() {
  if (!alive()) return;
  ending_ = true;
  wake();
}

void Process::operation_ends() {
  --operations_;
  called_ = ticking_ = true;
}

/// A team of ours has it.
bool Process::wants(int rank) const { return peers_[static_cast<std::size_t>(rank)]->wanted; }

/// It is alive, and we need each other. When somebody has died one side may have made a team that the other never will.
bool Process::needed(const Peer* peer) const {
  if (peer == nullptr || !wants(static_cast<int>(peer->address.job_rank))) return false;
  const Process& other = world_.process(static_cast<int>(peer->address.job_rank));
  return other.alive() && other.wants(rank_);
}

bool Process::quiet() const {
  if (!world_.somebody_died()) return operations_ == 0 && !ticking_;
  return operations_ == 0 && std::none_of(peers_.begin(), peers_.end(), [this](const Peer* peer) {
    return needed(peer) && peer->trunk->outstanding();
  });
}

/// Or the other end believes in it: as long as nothing has to go over a lane, nothing tells that end of what happened at this
/// one. That is so where all goes by way of the nodes' memory, and on a rail for RDMA, where no kernel answers for a connection
/// that is gone.
bool Process::has(const Wire& wire, const Peer& peer) const {
  if (wire.there()) return true;
  if (!world_.sharing().any && !for_rdma(wire)) return false;
  const Process& there = world_.process(static_cast<int>(peer.address.job_rank));
  const Peer& other = *there.peers_[static_cast<std::size_t>(rank_)];
  return !other.trunk->outstanding() && std::any_of(other.wires.begin(), other.wires.end(), [&](const Wire& its) {
    return its.rails.local == wire.rails.remote && its.rails.remote == wire.rails.local && its.there();
  });
}

bool Process::for_rdma(const Wire& wire) const {
  const std::vector<SimPort*> ports = world_.ports(rank_);
  return wire.rails.local < ports.size() && ports[wire.rails.local]->options().queues;
}

std::string Process::missing() const {
  for (const Peer* peer : peers_) {
    if (!needed(peer) || peer->wired()) continue;
    for (const Wire& wire : peer->wires)
      if (!has(wire, *peer)) return wire.label + " to " + peer->label() + ": " + wire.trouble();
  }
  return "";
}

void Process::kill() {
  system_.end();
  core_.reset();
}

void Process::jump(Nanoseconds by) {
  clock_.jump(by);
  wake();
}

void Process::wake() { waker_.wake(world_.setting().random); }

void Process::look() {
  if (!alive()) return;
  if (world_.network().now() < paused_until_) return waker_.alarm_after(paused_until_ - world_.network().now());
  const Nanoseconds now = clock_.now();
  if (due_ != 0 && due_ <= now) {
    core_->step(now);
    due_ = 0;
  }
  share();
  bool moved = core_->progress(operations_ != 0 ? Watch::all : Watch::rare);
  ticking_ = ticking_ || (moved && operations_ == 0);
  for (std::size_t i = 0; i < aggregators_.size(); ++i) greet(i);
  for (const auto& caller : callers_) moved = caller->advance() || moved;
  tick();
  if (moved) {
    world_.wake_mates(rank_);
    idle_ = kShortest;
    idle_since_ = now;
    wake();
  } else {
    idle_ = std::min(2 * idle_, kTick);
  }
  if (operations_ != 0 && now - idle_since_ >= kPatience) {
    core_->settle();
    idle_since_ = now;
  }
  if (operations_ != 0) waker_.alarm_after(idle_);
  if (ticking_ || ending_) waker_.alarm_after(std::max(next_tick_ - now, kShortestNap));
  if (const Nanoseconds due = core_->next_due(); due != 0 && (due_ == 0 || due < due_)) due_ = std::max(due, now + kShortestNap);
  if (due_ != 0) waker_.alarm_after(due_ - now);
  if (const Nanoseconds beat = core_->next_beat(); beat != 0) waker_.alarm_after(std::max(beat - now, kShortestNap));
}

/// As the engine's threads do it: one that waits for calls by way of shared memory steps often, and some thread shows in
/// time that the process runs.
void Process::share() {
  const Nanoseconds now = clock_.now();
  core_->beat(now);
  if (!core_->climbs() || now - stepped_ < kMillisecond) return;
  stepped_ = now;
  core_->step(now);
}

void Process::greet(std::size_t aggregator) {
  const std::size_t service = world_.setting().aggregators[aggregator][static_cast<std::size_t>(rank_)];
  world_.services()[service]->be_greeted(*core_, aggregators_[aggregator], greet_at_[aggregator]);
}

/// The service's look: it never runs while an operation is under way.
void Process::tick() {
  const Nanoseconds now = clock_.now();
  const bool wiring = core_->wiring() || ending_;
  if (!wiring && (!ticking_ || now < next_tick_)) return;
  next_tick_ = now + kTick;
  if (operations_ != 0) return;
  core_->progress(Watch::all);
  ticking_ = core_->settle() || called_;
  called_ = false;
  if (!ticking_) core_->arm_payload_wakeup();
}

}  // namespace nezha::test
