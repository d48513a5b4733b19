// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <cstdio>

#include "engine/near_rails.h"

namespace nezha::test {
namespace {

/// No call may take longer than this: faults last shorter, and lanes are tried for again within seconds.
constexpr Nanoseconds kPatience = 60 * kSecond;
constexpr Nanoseconds kSilence = 2 * kSecond;
constexpr Nanoseconds kLate = 5 * kSecond;  ///< after its time, for an error

int rank_of(ProcessId id) { return static_cast<int>(id) - 1; }

const std::deque<RailLoad>& loads_of(Process& process) {
  static const std::deque<RailLoad> none;
  return process.alive() ? process.core().loads() : none;
}

std::vector<std::vector<std::unique_ptr<SimPort>>> make_ports(const Setting& setting, SimNetwork& network) {
  std::vector<std::vector<std::unique_ptr<SimPort>>> all;
  for (const auto& options : setting.ports) {
    auto& mine = all.emplace_back();
    for (const SimPortOptions& port : options) mine.push_back(std::make_unique<SimPort>(network, port));
  }
  return all;
}

Setting setting_of(const Scope& scope) {
  Setting setting(scope.seed, scope.calls, scope.nodes, scope.rdma);
  if (scope.service) setting.add_services(scope.nodes);
  return setting;
}

/// One for each rank; those of one node join.
std::vector<std::unique_ptr<SimPort>> make_loopbacks(const Setting& setting, SimNetwork& network) {
  std::vector<std::unique_ptr<SimPort>> all(setting.nodes.size());
  for (std::size_t rank = 0; setting.loopbacks && rank < all.size(); ++rank) {
    const auto node = std::find(setting.nodes.begin(), setting.nodes.end(), setting.nodes[rank]) - setting.nodes.begin();
    SimPortOptions options{.name = "lo", .network = static_cast<std::uint8_t>(node), .rate = 2};
    all[rank] = std::make_unique<SimPort>(network, options);
  }
  return all;
}

}  // namespace

World::World(const Scope& scope, bool talks) : World(setting_of(scope), std::nullopt, scope.faults, talks) {}

World::World(Setting setting, std::optional<Program> program, std::size_t most, bool talks)
    : setting_(std::move(setting)),
      network_(setting_.network, setting_.random.next()),
      queues_{network_, setting_.queues, {}},
      faults_(*this),
      storms_(*this, setting_.random.next(), most),
      observer_(network_, !setting_.has_queues(),
                [this](ProcessId from, ProcessId to) {
                  const int ranks = setting_.shape.ranks;
                  if (rank_of(from) < ranks && rank_of(to) < ranks) storms_.ack_sent(rank_of(from), rank_of(to));
                }),
      program_(program ? std::move(*program) : Program(setting_.shape, setting_.random)),
      talks_(talks),
      ports_(make_ports(setting_, network_)),
      loopbacks_(make_loopbacks(setting_, network_)),
      times_(program_.calls.size()) {
  callers_left_ = static_cast<std::size_t>(setting_.shape.ranks * setting_.shape.threads);
  for (int rank = 0; rank <= setting_.shape.ranks; ++rank) log_contexts_.push_back({this, rank});  // the last: the services'
  for (std::size_t i = 0; i < setting_.services.size(); ++i)
    services_.push_back(std::make_unique<Service>(*this, i, setting_.seed + i, most != 0));
  for (int rank = 0; rank < setting_.shape.ranks; ++rank) processes_.push_back(std::make_unique<Process>(*this, rank));
  for (const auto& process : processes_) process->begin();
  begin_late_ports();
}

/// Services have lanes to one another, which refer to the ports of both.
World::~World() {
  for (const auto& service : services_) service->kill();
}

void World::begin_late_ports() {
  for (std::size_t rank = 0; rank < ports_.size(); ++rank)
    for (std::size_t i = 0; i < ports_[rank].size(); ++i)
      if (const Nanoseconds when = setting_.late[rank][i]; when != 0) faults_.outage(static_cast<int>(rank), i, when);
}

std::vector<SimPort*> World::ports(int rank) {
  std::vector<SimPort*> mine;
  for (const auto& port : ports_[static_cast<std::size_t>(rank)]) mine.push_back(port.get());
  return mine;
}

Log World::log(int rank) {
  return {write_line, &log_contexts_[static_cast<std::size_t>(rank)], 4};
}

void World::write_line(void* context, int, const char* line) {
  const auto& who = *static_cast<LogContext*>(context);
  const auto says = [text = std::string_view(line)](const char* words) { return text.find(words) != std::string_view::npos; };
  if (says(" is lost: ")) ++who.world->lanes_lost_;
  if (says("cannot have")) who.world->fail(std::string("there are none but honest processes, and one hears: ") + line);
  who.world->talk("rank " + std::to_string(who.rank) + ": " + line);
}

void World::talk(const std::string& line) const {
  if (talks_) std::printf("%12.6f s %s\n", static_cast<double>(network_.now()) / kSecond, line.c_str());
}

void World::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

std::string World::run(Tally& tally) {
  storms_.begin();
  run_program();
  if (failure_.empty()) run_until_quiet();
  if (failure_.empty()) check_silence();
  count(tally);
  return failure_;
}

void World::run_program() {
  last_done_ = network_.now();
  while (failure_.empty() && callers_left_ != 0) {
    if (!network_.step() || network_.now() - last_done_ > kPatience) return fail("nothing goes on: " + stuck());
    if (!network_.violations().empty()) return fail(network_.violations().front());
  }
}

/// Without further faults every lane comes back, everything is acknowledged, and the services fall asleep.
void World::run_until_quiet() {
  for (const auto& process : processes_) process->end();
  for (const auto& service : services_) service->end();
  storms_.end();
  const Nanoseconds limit = network_.now() + kPatience;
  const auto at_rest = [](const auto& process) { return !process->alive() || (process->quiet() && process->whole()); };
  const auto free = [](const auto& service) { return service->memory() == 0; };
  while (!std::all_of(processes_.begin(), processes_.end(), at_rest) || !std::all_of(services_.begin(), services_.end(), free)) {
    if (!network_.step() || network_.now() > limit) break;
    if (!network_.violations().empty()) return fail(network_.violations().front());
  }
  for (const auto& service : services_)
    if (service->memory() != 0) fail("a service keeps memory of operations that are over");
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    const std::string who = "rank " + std::to_string(process->rank());
    if (!process->quiet()) fail(who + " is never done with its acks");
    if (!process->whole()) fail(who + " does not get all its lanes back: " + process->missing());
    for (const auto& caller : process->callers()) caller->check_watched();
  }
}

/// When nothing is outstanding, nothing is sent. Until then the last ends have to find out that their lanes are dead, which
/// takes seconds with a peer that died with its node, and each tells the lanes that are left.
void World::check_silence() {
  const Nanoseconds limit = network_.now() + kPatience;
  for (std::uint64_t before = ~frames_sent(); frames_sent() != before;) {
    if (network_.now() > limit) return fail("frames are sent although nothing is outstanding");
    before = frames_sent();
    network_.run_until(network_.now() + kSilence);
    if (!network_.violations().empty()) return fail(network_.violations().front());
  }
}

std::string World::stuck() const {
  std::string out;
  for (const auto& process : processes_)
    for (const auto& caller : process->callers())
      if (process->alive() && !caller->done()) out += "\n    " + caller->text();
  return out;
}

void World::collect_vote(std::size_t team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, Caller& caller) {
  Ballot& ballot = ballots_[team];
  ballot.words.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) ballot.words[i] |= words[i];
  ballot.callers.push_back(&caller);
  if (has_dead(team)) return call_off(team);
  if (ballot.callers.size() != program_.teams[team].members.size()) return;
  const Nanoseconds spread = setting_.random.chance(0.5) ? kMicrosecond : 5 * kMillisecond;
  for (Caller* voter : ballot.callers)
    network_.after(setting_.random.between(0, spread), [voter, all = ballot.words] { voter->decide(all); });
  ballots_.erase(team);
}

void World::decline(std::size_t team) {
  declined_.insert(team);
  last_done_ = network_.now();
  if (!setting_.may_decline()) fail("a team declines although all rails are there");
}

bool World::has_dead(std::size_t team) const {
  const std::vector<int>& members = program_.teams[team].members;
  return std::any_of(members.begin(), members.end(), [this](int rank) { return !process(rank).alive(); });
}

/// The incumbent's votes need all members.
void World::call_off(std::size_t team) {
  declined_.insert(team);
  for (Caller* voter : ballots_[team].callers) network_.after(0, [voter] { voter->give_up_team(); });
  ballots_.erase(team);
}

void World::kill(int rank) {
  lost(rank);
  process(rank).kill();
  call_off_dead();
}

void World::stop(int rank) {
  lost(rank);
  process(rank).stop();
  call_off_dead();
}

void World::lost(int rank) {
  for (const auto& caller : process(rank).callers())
    if (!caller->done()) --callers_left_;
  ++deaths_;
  if (died_ == 0) died_ = network_.now();
  last_done_ = network_.now();
}

void World::call_off_dead() {
  std::vector<std::size_t> teams;
  for (const auto& [team, ballot] : ballots_)
    if (has_dead(team)) teams.push_back(team);
  for (const std::size_t team : teams) call_off(team);
}

void World::wake_mates(int rank) {
  if (!setting_.sharing.any) return;
  const std::vector<std::string>& nodes = setting_.nodes;
  for (const auto& other : processes_)
    if (other->rank() != rank && other->alive() && other->core().climbs() &&
        nodes[static_cast<std::size_t>(other->rank())] == nodes[static_cast<std::size_t>(rank)])
      other->wake();
}

/// Errors name a rank that died or stands still, not who told of it.
bool World::names_dead(const std::string& error) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
    return !process->alive() && error.find("rank " + std::to_string(process->rank()) + " on ") != std::string::npos;
  });
}

/// Ring order: ranks of one node are neighbours, nodes in the order of their lowest ranks.
std::vector<std::vector<int>> World::by_node(std::size_t team) const {
  const std::vector<int>& members = program_.teams[team].members;
  std::vector<std::vector<int>> all;
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const std::string& node = setting_.nodes[static_cast<std::size_t>(members[rank])];
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), node) - names.begin());
    if (at == names.size()) names.push_back(node), all.emplace_back();
    all[at].push_back(static_cast<int>(rank));
  }
  return all;
}

std::vector<std::vector<int>> World::in_carrying_order(std::size_t team) const {
  std::vector<std::vector<int>> nodes = by_node(team);
  const Config& config = setting_.config;
  const bool own_order = config.reproducible || config.algorithm != AlgorithmChoice::automatic || program_.teams[team].within_node;
  if (own_order) return nodes;
  for (std::vector<int>& ranks : nodes) {
    std::vector<NearRank> near;
    for (const int rank : ranks) near.push_back({rank, setting_.near(program_.teams[team].members[static_cast<std::size_t>(rank)])});
    ranks = carrying_order(near);
  }
  return nodes;
}

const Bytes& World::expected(std::size_t call, const Carried& way) {
  const auto found = results_.find(call);
  if (found != results_.end()) {
    if (found->second.way != way) fail("ranks carry call " + std::to_string(call) + " differently");
    return found->second.bytes;
  }
  const CallSpec& spec = program_.calls[call];
  Bytes bytes = way.shared ? expected_result(spec, way.algorithm, in_carrying_order(spec.team), way.cutting)
                           : expected_result(spec, way.algorithm, ranks_of(by_node(spec.team)));
  return results_.emplace(call, Result{way, std::move(bytes)}).first->second.bytes;
}

void World::call_begun(std::size_t call) {
  if (times_[call].began != 0) return;
  times_[call].began = network_.now();
  if (on_call) on_call(call);
}

void World::call_failed(std::size_t call, const std::string& error, Nanoseconds began) {
  ++failed_;
  last_done_ = network_.now();
  const std::string what = "call " + std::to_string(call) + " has failed";
  talk(what + ": " + error);
  if (!setting_.may_fail && !has_dead(program_.calls[call].team)) return fail(what + " although all its ranks live: " + error);
  if (!setting_.may_fail && !names_dead(error)) return fail(what + ", and names nobody who is gone: " + error);
  const Nanoseconds waited = network_.now() - std::max(began, died_);
  if (waited > setting_.config.timeout * kSecond + kLate) fail(what + ", but only after " + std::to_string(waited) + " ns");
}

void World::call_done(std::size_t call, const Carried& way) {
  ++operations_;
  if (way.shared) ++shared_;
  last_done_ = times_[call].ended = network_.now();
  Result& result = results_.at(call);
  if (++result.done != program_.teams[program_.calls[call].team].members.size()) return;
  ++calls_;
  results_.erase(call);
}

std::uint64_t World::frames_sent() const {
  std::uint64_t frames = 0;
  for (const auto& process : processes_) {
    for (const RailLoad& load : loads_of(*process)) frames += load.frames_sent;
    if (process->alive()) frames += process->core().loopback_load().frames_sent;
  }
  return frames;
}

void World::count(Tally& tally) const {
  tally.worlds += 1;
  tally.calls += calls_;
  tally.operations += operations_;
  tally.shared += shared_;
  tally.lanes_lost += lanes_lost_;
  tally.declined += declined_.size();
  tally.time += network_.now();
  tally.frames += frames_sent();
  tally.faults += storms_.happened();
  tally.deaths += deaths_;
  tally.failed += failed_;
  for (const auto& service : services_) tally.aggregated += service->operations();
  for (const auto& process : processes_)
    for (const RailLoad& load : loads_of(*process)) {
      tally.bytes += load.bytes_sent;
      tally.replays += load.retransmissions;
      tally.suspicions += load.suspicions;
    }
}

}  // namespace nezha::test
