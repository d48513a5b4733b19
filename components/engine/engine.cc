// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "engine/cpu_quota.h"
#include "engine/descriptors.h"
#include "engine/memory.h"
#include "engine/near_rails.h"
#include "engine/secret.h"
#include "engine/sharp_opening.h"
#include "engine/transports.h"
#include "rail/btl/btl_kind.h"
#include "util/file.h"
#include "util/random.h"
#include "util/text.h"

namespace nezha {
namespace {

constexpr Nanoseconds kWiringLook = 500 * kMicrosecond;

ProcessId make_id() {
  ProcessId id = 0;
  return random_id(id).ok() ? id : 0;
}

Secret make_key_or_zero() {
  Secret key{};
  return make_key(key).ok() ? key : Secret{};
}

/// A promise that is made before there is any peer, and cannot be taken back when many come.
Config with_window(Config config, std::uint32_t job_ranks) {
  if (config.window == 0) config.window = early_window(std::max(job_ranks, 2U) - 1);
  return config;
}

/// Then they take turns.
bool more_than_processors(std::uint32_t ranks) {
  if (ranks <= 1) return false;
  if (const std::size_t quota = cpu_quota(); quota != 0 && ranks > quota) return true;
  return ranks > Affinity().count() && ranks > processors_of_all();
}

}  // namespace

Nanoseconds SystemClock::now() const {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

Engine::Engine(const Config& config, const nezha_host_t& host, const nezha_self_t& self)
    : host_(host),
      job_ranks_(std::max(self.job_ranks, 2U)),
      local_ranks_(self.local_ranks),
      crowded_(more_than_processors(self.local_ranks)),
      host_btl_(host),
      tasks_([this] { wake_service(); }),
      core_(with_window(config, self.job_ranks), clock_, Log(host.log, host.ctx, config.verbose), self.job_rank,
            self.node_name, make_id(), make_key_or_zero()),
      requests_(*this, core_) {}

Status Engine::open() {
  Lock lock(mutex_);
  if (too_few_descriptors()) {
    without_descriptors_ = true;
    core_.log().line(1, "no rails: this process may not open enough files for any communicator");
    address_ = encode_address(core_.self());
    return {};
  }
  Notices notices;
  const bool known = core_.self().id != 0 && core_.self().key != Secret{};
  Status status = known ? open_transports(core_, local_ranks_, host_btl_.there() ? &host_btl_ : nullptr, notices)
                        : Status{Code::internal, "the kernel gives no random bytes"};
  for (const RailAddress& rail : core_.self().rails) host_carries_ = host_carries_ || rail.transport == kBtl;
  core_.set_near(rails_near(core_.self().rails, Affinity()));
  core_.employ_service(tasks_);
  if (const Status acceptor = core_.config().shared_memory ? core_.open_acceptor() : Status{}; !acceptor.ok())
    core_.log().line(1, "no shared memory with ranks of this node: %s", acceptor.text().c_str());
  workers_.plan(core_, local_ranks_, notices);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) status = {Code::io, "no descriptor for the service thread"};
  address_ = encode_address(core_.self());
  open_trace(notices);
  core_.check_tables(notices);
  lock.unlock();
  if (wake_fd_ >= 0) reserve_descriptors(wake_fd_, descriptors_to_come());
  help(notices);
  return status;
}

/// In a team of the whole job: the host's, a lane by each rail, and one for memory, to each rank.
std::size_t Engine::descriptors_to_come() const {
  return descriptors_of_host(job_ranks_) + job_ranks_ * (core_.self().rails.size() + 1);
}

/// For the smallest team. What is opened before there is one would be missing to the host, which has hardly enough.
bool Engine::lends() const {
  const auto transports = core_.transports();
  return std::any_of(transports.begin(), transports.end(), [](const auto& each) { return each->lends(); });
}

bool Engine::too_few_descriptors() const {
  const Descriptors have = descriptors();
  return have.limit < have.used + kDescriptorsOfEngine + 1 + descriptors_of_host(2);
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
  if (!fence_follows_) see_peers_off();
  if (wake_fd_ >= 0) close(wake_fd_);
  core_.tell_of_lanes(nullptr);
}

namespace {

/// This process's, its arguments separated by blanks; empty where /proc does not tell.
std::string own_command() {
  std::string words;
  if (!read_file({"/proc/self/cmdline"}, 64 * 1024, words).ok()) return {};
  std::replace(words.begin(), words.end(), '\0', ' ');
  return std::string(trim(words));
}

}  // namespace

/// One process's is enough to see what a job does.
void Engine::open_trace(Notices& notices) {
  if (core_.config().trace.empty() || core_.self().job_rank != 0) return;
  Status why;
  const std::string command = own_command();
  trace_ = Trace::open(core_.config().trace.text, {core_.self().node, command, core_.config().given}, clock_,
                       core_.loads(), core_.self().rails, why);
  if (trace_) return core_.tell_of_lanes(trace_.get());
  notices.push_back({"no trace", {core_.self().node, why.text()}});
}

void Engine::write_trace(Lock& lock) {
  if (!trace_) return;
  lock.unlock();
  std::unique_lock writing(trace_writing_);
  lock.lock();
  const std::string lines = trace_->take();
  lock.unlock();
  const Status status = trace_->write(lines);
  writing.unlock();
  lock.lock();
  if (!status.ok()) core_.notify({"trace ends", {core_.self().node, status.text()}});
}

Peer* Engine::add_peer(std::span<const std::byte> address, bool same_node, Status& why) {
  Lock lock(mutex_);
  return core_.add_peer(address, same_node, why);
}

Team* Engine::create_team(const nezha_team_spec_t& spec) {
  Lock lock(mutex_);
  std::vector<Peer*> peers;
  for (int rank = 0; rank < spec.size; ++rank) peers.push_back(reinterpret_cast<Peer*>(spec.peers[rank]));
  const bool within = spec.within_node != 0;
  std::unique_ptr<Team> planned = core_.plan_team(spec.name, spec.rank, std::move(peers), 0, within);
  if (const Notices shortage = descriptors_lacking(*planned); !shortage.empty()) {
    lock.unlock();
    help(shortage);
    return nullptr;
  }
  start_service();
  workers_.start(core_);
  Team* team = core_.add_team(std::move(planned));  // the last that may throw
  team->incumbent_on_rails = spec.incumbent_on_rails != 0;
  ticking_ = true;
  wake_service();
  return team;
}

/// Without a team it is the host that would run short of them, sooner or later, and end the job.
Notices Engine::descriptors_lacking(const Team& team) {
  const std::size_t peers = team.would_need(Plan::from(core_.config())).size();
  const std::size_t others = without_descriptors_ ? peers : core_.lanes_to_come(team);
  const std::size_t lanes = others + core_.memory_to_come(team);
  if (lanes == 0) return {};
  const Descriptors have = descriptors();
  const std::size_t own = without_descriptors_ ? kDescriptorsOfEngine : 0;  // else they are among the used ones
  const std::size_t needed = have.used + own + lanes + descriptors_of_host(static_cast<std::size_t>(team.size()));
  if (needed <= have.limit && !without_descriptors_) return {};
  core_.admit_wanted_only();
  return {{"too few descriptors", {team.name(), core_.self().node, std::to_string(lanes), std::to_string(needed)}}};
}

void Engine::destroy_team(Team& team) {
  Lock lock(mutex_);
  await_awake(lock, team);
  requests_.forget(team);
  auto sharp = sharps_.extract(&team);
  core_.destroy_team(team);
  stay_awake();  // its last pieces may be on their way
  if (sharp.empty()) return;
  lock.unlock();
  if (std::unique_ptr<SharpGroup> group = sharp.mapped()->leave()) leave_sharp(std::move(group));
}

bool Engine::agreement_due(Team& team, std::size_t bytes) {
  Lock lock(mutex_);
  if (host_carries_) look_with_host(lock);
  return team.agreement_due(bytes);
}

void Engine::vote(Team& team, std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  Lock lock(mutex_);
  if (team.awaits_lanes()) await_wiring(lock, team);
  core_.vote(team, words);
}

/// Who wants the same bits in every run cannot have a first few calls on the incumbent, whose number depends on time:
/// the first call waits until the lanes are up. Everybody else's calls never wait for wiring.
void Engine::await_wiring(Lock& lock, const Team& team) {
  while (!core_.wired(team) && clock_.now() < team.wiring_until()) {
    if (host_carries_) keep_watch(core_.progress(Watch::all));
    const Unlocked meanwhile(lock);
    host_.progress(host_.ctx);
    const timespec moment{0, kWiringLook};
    nanosleep(&moment, nullptr);
  }
}

/// A rank that cannot go on decides what the others do, since they would wait for it: its calls then return the error
/// that they all get.
nezha_team_state_t Engine::decide(Team& team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words) {
  Lock lock(mutex_);
  try {
    core_.decide(team, words);
    if (team.state() != NEZHA_TEAM_DECLINED) wake_service();  // there are lanes to make, or the node to show life to
    show_notices(lock);
  } catch (...) {
    if (team.state() == NEZHA_TEAM_READY) break_off(team);
  }
  return team.state();
}

bool Engine::votes_again(const Team& team) {
  Lock lock(mutex_);
  return team.votes_again();
}

bool Engine::shares_memory(const Team& team) {
  Lock lock(mutex_);
  return team.hierarchy() != nullptr;
}

void Engine::ending(bool fence) {
  Lock lock(mutex_);
  fence_follows_ = fence;
  core_.ending();
  const TableFiles tables = core_.learned_tables();
  if (trace_) trace_->memory(memory_so_far());
  write_trace(lock);
  show_notices(lock);
  lock.unlock();
  Notices notices;
  tables.save(notices);  // may wait; the service thread goes on meanwhile
  help(notices);
}

void Engine::message(std::span<const nezha_bytes_t> pieces) {
  std::array<std::span<const std::byte>, 16> all;
  const std::size_t count = std::min(pieces.size(), all.size());
  for (std::size_t i = 0; i < count; ++i) all[i] = {static_cast<const std::byte*>(pieces[i].data), pieces[i].size};
  host_btl_.arrived(std::span(all).first(count));
}

std::string Engine::error_of(const Team& team) {
  Lock lock(mutex_);
  return team.error();
}

void Engine::give_up(Team& team, const char* why) {
  Lock lock = enter();
  core_.break_off(team, std::make_exception_ptr(std::runtime_error(why)));
  stay_awake();
}

void Engine::break_off(Team& team) {
  try {
    core_.break_off(team, std::current_exception());
  } catch (...) {
    no_memory();
  }
  stay_awake();
}

static_assert(static_cast<int>(Collective::allreduce) == NEZHA_ALLREDUCE);
static_assert(static_cast<int>(Collective::barrier) == NEZHA_BARRIER);

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
  const Unlocked meanwhile(lock);
  help(notices);
}

}  // namespace nezha
