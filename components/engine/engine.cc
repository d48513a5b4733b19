// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "engine/secret.h"
#include "engine/transports.h"
#include "rail/tcp/interface.h"
#include "util/random.h"

namespace nezha {
namespace {

/// Idle rounds before a caller sleeps: more in a young wait, since what a small call waits for is a few hops away, and on
/// a node with more ranks than cores yielding brings it about sooner than sleeping.
constexpr unsigned kSpinsYoung = 40;
constexpr unsigned kSpins = 3;
constexpr Nanoseconds kYoung = 300 * kMicrosecond;
constexpr Nanoseconds kWiringLook = 500 * kMicrosecond;
constexpr Nanoseconds kPatience = 2 * kMillisecond;  ///< idle time after which acks are sent on their own
/// Between two looks at the host's own communication: an eighth of the time that the wait has taken so far, within these
/// bounds. Each look costs as much as receiving some ten KiB, and what waits for one has waited as long as we have.
constexpr Nanoseconds kHostOften = 100 * kMicrosecond;
constexpr Nanoseconds kHostRarely = kMillisecond;

ProcessId make_id() {
  ProcessId id = 0;
  return random_id(id).ok() ? id : 0;
}

Secret make_key_or_zero() {
  Secret key{};
  return make_key(key).ok() ? key : Secret{};
}

}  // namespace

Nanoseconds SystemClock::now() const {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

Engine::Engine(const Config& config, const nezha_host_t& host, const nezha_self_t& self)
    : host_(host),
      core_(config, clock_, Log(host.log, host.ctx, config.verbose), self.job_rank, self.node_name, make_id(),
            make_key_or_zero()) {}

Status Engine::open() {
  Lock lock(mutex_);
  Notices notices;
  Status status = core_.self().id == 0 ? Status{Code::internal, "the kernel gives no random bytes"}
                                       : open_transports(core_, notices);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) status = {Code::io, "no descriptor for the service thread"};
  address_ = encode_address(core_.self());
  lock.unlock();
  help(notices);
  return status;
}

Engine::~Engine() {
  {
    Lock lock(mutex_);
    stop_ = true;
  }
  if (service_.joinable()) {
    wake_service();
    service_.join();
  }
  if (wake_fd_ >= 0) close(wake_fd_);
}

Peer* Engine::add_peer(std::span<const std::byte> address, bool same_node, Status& why) {
  Lock lock(mutex_);
  return core_.add_peer(address, same_node, why);
}

Team* Engine::create_team(const nezha_team_spec_t& spec) {
  Lock lock(mutex_);
  std::vector<Peer*> peers;
  for (int rank = 0; rank < spec.size; ++rank) peers.push_back(reinterpret_cast<Peer*>(spec.peers[rank]));
  Team* team = core_.create_team(spec.name, spec.rank, std::move(peers));
  start_service();
  ticking_ = true;
  wake_service();
  return team;
}

void Engine::destroy_team(Team& team) {
  Lock lock(mutex_);
  core_.destroy_team(team);
}

bool Engine::agreement_due(Team& team, std::size_t bytes) {
  Lock lock(mutex_);
  return team.agreement_due(bytes);
}

void Engine::vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  Lock lock(mutex_);
  if (team.awaits_lanes()) await_wiring(lock, team);
  core_.vote(team, words);
}

/// Who wants the same bits in every run cannot have a first few calls on the incumbent, whose number depends on time: the
/// first call waits until the lanes are up. Everybody else's calls never wait for wiring.
void Engine::await_wiring(Lock& lock, const Team& team) {
  while (!core_.wired(team) && clock_.now() < team.wiring_until()) {
    lock.unlock();
    host_.progress(host_.ctx);
    const timespec moment{0, kWiringLook};
    nanosleep(&moment, nullptr);
    lock.lock();
  }
}

nezha_team_state_t Engine::decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  Lock lock(mutex_);
  const nezha_team_state_t state = core_.decide(team, words);
  show_notices(lock);
  return state;
}

bool Engine::votes_again(const Team& team) {
  Lock lock(mutex_);
  return team.votes_again();
}

std::string Engine::error_of(const Team& team) {
  Lock lock(mutex_);
  return team.error();
}

int Engine::allreduce(Team& team, const nezha_allreduce_t& what) {
  if (what.count == 0) return NEZHA_OK;
  Lock lock(mutex_);
  if (!team.error().empty()) return NEZHA_ERR_FAILED;
  const std::size_t bytes = what.count * what.element;
  while (team.table().agreement_due(bytes)) {
    agree(lock, team);
    if (!team.error().empty()) return NEZHA_ERR_FAILED;
  }
  const Candidate way = team.table().next(bytes, what.element);
  if (way.algorithm == AlgorithmChoice::incumbent) {
    team.incumbent_since = team.table().measures() ? clock_.now() : 0;
    return NEZHA_USE_INCUMBENT;
  }
  Call call;
  call.send = static_cast<const std::byte*>(what.send);
  call.recv = static_cast<std::byte*>(what.recv);
  call.count = what.count;
  call.element = what.element;
  call.chunk = team.plan().chunk_for(way, bytes, what.element, team.size());
  call.reducer = {find_kernel(what.type, what.op), host_.reduce, host_.ctx, what.reduce_ctx, what.element};
  const Nanoseconds start = clock_.now();
  operate(lock, team, call, way.algorithm);
  if (team.error().empty()) {
    const Nanoseconds took = clock_.now() - start;
    count(bytes, took);
    team.table().took(took);
  }
  if (core_.has_notices()) show_notices(lock);
  return team.error().empty() ? NEZHA_OK : NEZHA_ERR_FAILED;
}

/// One operation from its beginning to its end.
void Engine::operate(Lock& lock, Team& team, const Call& call, AlgorithmChoice choice) {
  ++operations_;
  core_.start(team, call, choice);
  wait(lock, team);
  --operations_;
  called_ = true;
  if (!ticking_) {
    ticking_ = true;
    wake_service();
  }
}

/// The ranks agree on what the table's next steps depend on.
void Engine::agree(Lock& lock, Team& team) {
  operate(lock, team, team.agreement(), team.agreement_algorithm());
  const int level = team.rank() == 0 ? 1 : 2;  // all decide alike: one of them tells
  if (team.error().empty() && team.table().agreed() && core_.log().on(level))
    core_.log().line(level, "team %s, %s", team.name().c_str(), team.table().story().c_str());
}

void Engine::incumbent_done(Team& team) {
  if (team.incumbent_since == 0) return;
  Lock lock(mutex_);
  team.table().took(clock_.now() - team.incumbent_since);
  team.incumbent_since = 0;
}

/// One caller drives; the others sleep until their operation has ended or the drive is handed on.
void Engine::wait(Lock& lock, Team& team) {
  while (!team.finished()) {
    if (driving_) {
      ++waiting_;
      turn_.wait_for(lock, std::chrono::milliseconds(1));
      --waiting_;
      continue;
    }
    driving_ = true;
    drive(lock, team);
    driving_ = false;
  }
  if (waiting_ != 0) turn_.notify_all();
}

void Engine::drive(Lock& lock, Team& team) {
  const Nanoseconds began = clock_.now();
  Nanoseconds idle_since = began;
  unsigned idle_rounds = 0;
  while (!team.finished()) {
    const bool moved = core_.progress(Watch::all);
    if (moved && waiting_ != 0) turn_.notify_all();
    if (team.finished()) return;
    const Nanoseconds now = clock_.now();
    const Nanoseconds look_due = host_looked_ + std::clamp((now - began) / 8, kHostOften, kHostRarely);
    if (moved) {
      idle_since = now;
      idle_rounds = 0;
    } else if (now - idle_since >= kPatience) {
      core_.settle();  // a peer may wait for our acks before it can come here
      idle_since = now;
    }
    if (now >= look_due) {
      host_looked_ = now;
      core_.step(now);
      lock.unlock();
      host_.progress(host_.ctx);
      lock.lock();
    } else if (!moved) {
      rest(lock, idle_rounds++ < (now - began < kYoung ? kSpinsYoung : kSpins) ? 0 : look_due - now);
    }
  }
}

/// Nothing to do for the lanes: sleep for `longest` at most, or only yield.
void Engine::rest(Lock& lock, Nanoseconds longest) {
  std::array<pollfd, 8> fds;
  nfds_t count = 0;
  for (const auto& transport : core_.transports())
    if (count < fds.size()) fds[count++] = {transport->wait_fd(Watch::all), POLLIN, 0};
  lock.unlock();
  if (longest == 0) {
    sched_yield();
  } else {
    const timespec time{0, longest};
    ppoll(fds.data(), count, &time, nullptr);
  }
  lock.lock();
}

void Engine::count(std::size_t bytes, Nanoseconds took) {
  nezha_class_stats_t& entry = classes_[std::min<std::size_t>(std::bit_width(bytes) - 1, NEZHA_SIZE_CLASSES - 1)];
  entry.calls += 1;
  entry.bytes += bytes;
  entry.time_ns += static_cast<std::uint64_t>(took);
  calls_ += 1;
  bytes_ += bytes;
}

/// Without the lock.
void Engine::help(const Notices& notices) const {
  if (host_.help == nullptr) return;
  for (const Notice& notice : notices) {
    std::vector<const char*> arguments;
    for (const std::string& argument : notice.arguments) arguments.push_back(argument.c_str());
    host_.help(host_.ctx, notice.topic.c_str(), static_cast<int>(arguments.size()), arguments.data());
  }
}

void Engine::show_notices(Lock& lock) {
  if (!core_.has_notices()) return;
  const Notices notices = core_.take_notices();
  lock.unlock();
  help(notices);
  lock.lock();
}

std::size_t Engine::rails() {
  Lock lock(mutex_);
  return core_.rails();
}

bool Engine::rail_stats(std::size_t index, nezha_rail_stats_t& stats) {
  Lock lock(mutex_);
  if (index >= core_.rails()) return false;
  stats = {};
  const RailLoad& load = core_.loads()[index];
  const RailAddress& rail = core_.self().rails[index];
  std::uint64_t total = 0;
  for (const RailLoad& other : core_.loads()) total += other.bytes_sent;
  std::snprintf(stats.name, sizeof stats.name, "%s", rail.label().c_str());
  std::snprintf(stats.address, sizeof stats.address, "%s", address_text(rail.family, rail.address).c_str());
  stats.bytes_sent = load.bytes_sent;
  stats.bytes_received = load.bytes_received;
  stats.frames_sent = load.frames_sent;
  stats.frames_received = load.frames_received;
  stats.retransmissions = load.retransmissions;
  stats.busy_ns = static_cast<std::uint64_t>(load.busy);
  stats.share = total == 0 ? 0 : static_cast<std::uint32_t>(static_cast<double>(load.bytes_sent) / static_cast<double>(total) * 65536);
  stats.lanes_up = load.lanes_up;
  stats.lanes_failed = load.lanes_failed;
  stats.suspicions = load.suspicions;
  stats.failovers = load.failovers;
  stats.reconnections = load.reconnections;
  return true;
}

void Engine::class_stats(nezha_class_stats_t* stats) {
  Lock lock(mutex_);
  std::copy(classes_.begin(), classes_.end(), stats);
}

void Engine::totals(std::uint64_t& calls, std::uint64_t& bytes) {
  Lock lock(mutex_);
  calls = calls_;
  bytes = bytes_;
}

}  // namespace nezha
