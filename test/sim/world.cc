// SPDX-License-Identifier: BSD-3-Clause
#include "world.h"

#include <algorithm>
#include <cstdio>

namespace nezha::test {
namespace {

/// No call may take longer than this: faults last shorter, and lanes are tried for again within seconds.
constexpr Nanoseconds kPatience = 60 * kSecond;
constexpr Nanoseconds kSilence = 2 * kSecond;

std::vector<std::vector<std::unique_ptr<SimPort>>> make_ports(const Setting& setting, SimNetwork& network) {
  std::vector<std::vector<std::unique_ptr<SimPort>>> all;
  for (const auto& options : setting.ports) {
    auto& mine = all.emplace_back();
    for (const SimPortOptions& port : options) mine.push_back(std::make_unique<SimPort>(network, port));
  }
  return all;
}

}  // namespace

World::World(const Scope& scope, bool talks)
    : setting_(scope.seed, scope.calls),
      network_(setting_.network, setting_.random.next()),
      faults_(*this, setting_.random.next(), scope.faults),
      observer_(network_),
      program_(setting_.shape, setting_.random),
      talks_(talks),
      ports_(make_ports(setting_, network_)) {
  for (int rank = 0; rank < setting_.shape.ranks; ++rank) log_contexts_.push_back({this, rank});
  for (int rank = 0; rank < setting_.shape.ranks; ++rank) processes_.push_back(std::make_unique<Process>(*this, rank));
  for (const auto& process : processes_) process->begin();
}

World::~World() = default;

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
  if (std::string_view(line).find(" is lost: ") != std::string_view::npos) ++who.world->lanes_lost_;
  who.world->talk("rank " + std::to_string(who.rank) + ": " + line);
}

void World::talk(const std::string& line) const {
  if (talks_) std::printf("%12.6f s %s\n", static_cast<double>(network_.now()) / kSecond, line.c_str());
}

void World::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

std::string World::run(Tally& tally) {
  faults_.begin();
  run_program();
  if (failure_.empty()) run_until_quiet();
  if (failure_.empty()) check_silence();
  count(tally);
  return failure_;
}

void World::run_program() {
  last_done_ = network_.now();
  while (failure_.empty() && !all_done()) {
    if (!network_.step() || network_.now() - last_done_ > kPatience) return fail("nothing goes on: " + stuck());
    if (!network_.violations().empty()) return fail(network_.violations().front());
  }
}

bool World::all_done() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return std::all_of(process->callers().begin(), process->callers().end(), [](const auto& c) { return c->done(); });
  });
}

/// Without further faults every lane comes back, everything is acknowledged, and the services fall asleep.
void World::run_until_quiet() {
  for (const auto& process : processes_) process->end();
  faults_.end();
  const Nanoseconds limit = network_.now() + kPatience;
  const auto at_rest = [](const auto& process) { return process->quiet() && process->whole(); };
  while (!std::all_of(processes_.begin(), processes_.end(), at_rest)) {
    if (!network_.step() || network_.now() > limit) break;
    if (!network_.violations().empty()) return fail(network_.violations().front());
  }
  for (const auto& process : processes_) {
    const std::string who = "rank " + std::to_string(process->rank());
    if (!process->quiet()) fail(who + " is never done with its acks");
    if (!process->whole()) fail(who + " does not get all its lanes back");
    for (const auto& caller : process->callers()) caller->check_watched();
  }
}

/// When nothing is outstanding, nothing is sent: once the last ends have found out that their lanes are dead.
void World::check_silence() {
  const auto pass = [this](Nanoseconds limit) {
    while (network_.next() <= limit) network_.step();
  };
  pass(network_.now() + kSilence);
  const std::uint64_t before = frames_sent();
  pass(network_.now() + kSilence);
  if (frames_sent() != before) fail("frames are sent although nothing is outstanding");
}

std::string World::stuck() const {
  std::string out;
  for (const auto& process : processes_)
    for (const auto& caller : process->callers())
      if (!caller->done()) out += "\n    " + caller->text();
  return out;
}

void World::collect_vote(std::size_t team, const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, Caller& caller) {
  Ballot& ballot = ballots_[team];
  ballot.words.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) ballot.words[i] |= words[i];
  ballot.callers.push_back(&caller);
  if (ballot.callers.size() != program_.teams[team].members.size()) return;
  const Nanoseconds spread = setting_.random.chance(0.5) ? kMicrosecond : 5 * kMillisecond;
  for (Caller* voter : ballot.callers)
    network_.after(setting_.random.between(0, spread), [voter, all = ballot.words] { voter->decide(all); });
  ballots_.erase(team);
}

const Bytes& World::expected(std::size_t call, AlgorithmChoice algorithm) {
  const auto found = results_.find(call);
  if (found != results_.end()) {
    if (found->second.algorithm != algorithm) fail("ranks use different algorithms in call " + std::to_string(call));
    return found->second.bytes;
  }
  // Ring order: ranks of one node are neighbours, nodes in the order of their lowest ranks.
  const TeamSpec& team = program_.teams[program_.calls[call].team];
  std::vector<int> order;
  for (std::size_t first = 0; first < team.members.size(); ++first)
    for (std::size_t rank = first; rank < team.members.size(); ++rank)
      if (setting_.nodes[static_cast<std::size_t>(team.members[rank])] ==
              setting_.nodes[static_cast<std::size_t>(team.members[first])] &&
          std::find(order.begin(), order.end(), static_cast<int>(rank)) == order.end())
        order.push_back(static_cast<int>(rank));
  return results_.emplace(call, Result{algorithm, expected_result(program_.calls[call], algorithm, order)})
      .first->second.bytes;
}

void World::call_done(std::size_t call, AlgorithmChoice) {
  ++operations_;
  last_done_ = network_.now();
  Result& result = results_.at(call);
  if (++result.done != program_.teams[program_.calls[call].team].members.size()) return;
  ++calls_;
  results_.erase(call);
}

std::uint64_t World::frames_sent() const {
  std::uint64_t frames = 0;
  for (const auto& process : processes_)
    for (const RailLoad& load : process->core().loads()) frames += load.frames_sent;
  return frames;
}

void World::count(Tally& tally) const {
  tally.worlds += 1;
  tally.calls += calls_;
  tally.operations += operations_;
  tally.lanes_lost += lanes_lost_;
  tally.declined += declined_.size();
  tally.time += network_.now();
  tally.frames += frames_sent();
  for (const auto& process : processes_)
    for (const RailLoad& load : process->core().loads()) {
      tally.bytes += load.bytes_sent;
      tally.replays += load.retransmissions;
    }
}

}  // namespace nezha::test
