// SPDX-License-Identifier: BSD-3-Clause
#include "caller.h"

#include <algorithm>
#include <cstring>

#include "tuning/siblings.h"
#include "world.h"

namespace nezha::test {
namespace {

constexpr Nanoseconds kIncumbentTime = 5 * kMillisecond;  ///< at most
constexpr std::size_t kWatched = 24;                      ///< results that are looked at again later
constexpr std::byte kScribble{0xa5};

bool member(const TeamSpec& team, int rank) {
  return std::find(team.members.begin(), team.members.end(), rank) != team.members.end();
}

}  // namespace

Caller::Caller(World& world, Process& process, int thread) : world_(world), process_(process), thread_(thread) {
  next_call();
}

const CallSpec& Caller::call() const { return world_.program().calls[at_]; }

/// Goes to the next call from `at_` on that is this thread's.
void Caller::next_call() {
  const Program& program = world_.program();
  chose_ = false;
  for (; at_ < program.calls.size(); ++at_) {
    const TeamSpec& team = program.teams[call().team];
    if (team.thread != thread_ || !member(team, process_.rank())) continue;
    if (!world_.declined(call().team) && failed_.count(call().team) == 0) break;
  }
  state_ = at_ != program.calls.size() ? State::thinking : pending_.empty() ? State::done : State::draining;
  if (done()) world_.caller_done();
}

void Caller::think(Nanoseconds time) {
  state_ = State::thinking;
  until_ = world_.network().now() + time;
  if (time != 0) world_.network().after(time, [this] { process_.wake(); });
}

bool Caller::advance() {
  const bool ended = poll_pending();
  switch (state_) {
    case State::thinking:
      if (world_.network().now() < until_) return ended;
      if (process_.team(call().team) == nullptr) process_.create_team(call().team);
      if (process_.team(call().team)->state() == NEZHA_TEAM_WIRING)
        vote();
      else
        return start() || ended;
      return true;
    case State::aggregating:
      if (!stars_settled()) return ended;
      confirm();
      return true;
    case State::small:
      if (!process_.core().small_settled(*process_.team(call().team))) return ended;
      process_.operation_ends();
      if (process_.team(call().team)->error().empty())
        finish();
      else
        fail_call();
      return true;
    case State::agreeing:
    case State::joining:
    case State::asking:
    case State::confirming:
    case State::operating:
      if (!over(*process_.team(call().team), started_)) return ended;
      operation_over();
      return true;
    case State::incumbent:
      if (world_.network().now() < until_) return ended;
      finish();
      return true;
    case State::draining:
      if (at_ < world_.program().calls.size() ? has_pending(call().team) : !pending_.empty()) return ended;
      go_on();
      return true;
    default:
      return ended;
  }
}

void Caller::vote() {
  state_ = State::voting;
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  process_.core().vote(*process_.team(call().team), words);
  world_.collect_vote(call().team, words, *this);
}

void Caller::decide(const std::vector<std::uint64_t>& all) {
  if (!process_.alive()) return;
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  std::copy(all.begin(), all.end(), words.begin());
  const nezha_team_state_t state = process_.core().decide(*process_.team(call().team), words);
  if (state == NEZHA_TEAM_DECLINED) {
    world_.decline(call().team);
    next_call();
    return process_.wake();
  }
  think(state == NEZHA_TEAM_WIRING ? 5 * kMillisecond : 0);
  process_.wake();
}

void Caller::give_up_team() {
  if (!process_.alive()) return;
  next_call();
  process_.wake();
}

/// False: it has to wait until earlier ones have ended.
bool Caller::start() {
  Team& team = *process_.team(call().team);
  began_ = world_.network().now();
  if (!team.error().empty()) return fail_call(), true;  // as the engine does: at once
  if (!has_room()) return false;
  if (!chose_ && may_go_small()) {
    if (asks_for_small()) return true;
    chose_ = true;
    if (Star* star = star_for_small()) return begin_small(*star), true;
  }
  const bool served = !team.within_node() || Hierarchy::carries(call().collective);
  const bool learns = Team::learns(call().collective) && !call().nonblocking && served;
  if (learns && team.must_agree(call().collective, call().bytes(), call().element)) return agree(), true;
  prepare_vectors();
  const Candidate way = way_of_call();
  how_ = {way.algorithm, false, {}};
  if (way.algorithm == AlgorithmChoice::incumbent)
    leave_to_incumbent();
  else if (goes_shared() && call().collective == Collective::barrier)
    begin_barrier();
  else if (through_stars(way))
    join_stars(way);
  else
    begin_operation(way);
  return true;
}

/// As the engine has it: of barriers only those that block.
bool Caller::goes_shared() const {
  const Team& team = *process_.team(call().team);
  if (call().collective != Collective::barrier) return team.shares(call().collective, call().element);
  return !call().nonblocking && team.shares(Collective::barrier, sizeof nothing_);
}

bool Caller::has_room() const {
  const Team& team = *process_.team(call().team);
  if (!goes_shared()) return team.operations().room();
  return !call().nonblocking || team.hierarchy()->room();
}

/// This and the next ones: as Engine::through_small() and carry_small() do it.
bool Caller::may_go_small() const {
  return !call().nonblocking && call().collective == Collective::allreduce &&
         Core::may_go_small(*process_.team(call().team), allreduce_call());
}

nezha_call_t Caller::allreduce_call() const {
  nezha_call_t what{};
  what.collective = NEZHA_ALLREDUCE;
  what.count = call().count;
  what.element = call().element;
  what.type = type_here();
  what.op = call().op;
  return what;
}

/// Types of one signature may differ from rank to rank.
nezha_type_t Caller::type_here() const {
  return call().rank_without_kernel() == rank_in(call()) ? NEZHA_TYPE_OTHER : call().type;
}

bool Caller::asks_for_small() {
  Team& team = *process_.team(call().team);
  const std::optional<Call> words = process_.core().small_words(team, allreduce_call());
  if (!words) return false;
  state_ = State::asking;
  start_flat(*words, team.agreement_algorithm());
  return true;
}

Star* Caller::star_for_small() {
  return process_.core().star_for_small(*process_.team(call().team), allreduce_call());
}

void Caller::begin_small(Star& star) {
  Team& team = *process_.team(call().team);
  prepare_vectors();
  how_ = {AlgorithmChoice::single_step, false, {}};
  state_ = State::small;
  world_.call_begun(at_);
  process_.operation_begins();
  process_.core().begin_small(team, call_by({how_.algorithm}), type_here(), call().op, star);
}

int Caller::rank_in(const CallSpec& call) const {
  const auto& members = world_.program().teams[call.team].members;
  return static_cast<int>(std::find(members.begin(), members.end(), process_.rank()) - members.begin());
}

void Caller::prepare_vectors() {
  const int rank = rank_in(call());
  vectors_ = {};
  vectors_.send = contribution(call(), rank);
  if (call().hands_round()) {
    const Range block = block_of(call(), rank);
    Bytes own(vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin),
              vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin + block.bytes));
    if (!call().in_place_at(rank)) {
      vectors_.send = std::move(own);
    } else {
      vectors_.send.assign(call().bytes(), kScribble);
      std::copy(own.begin(), own.end(), vectors_.send.begin() + static_cast<std::ptrdiff_t>(block.begin));
    }
  }
  if (call().in_place_at(rank)) return;
  vectors_.given = vectors_.send;
  vectors_.recv.assign(result_at(call(), rank).bytes, kScribble);
}

Candidate Caller::way_of_call() {
  Team& team = *process_.team(call().team);
  if (team.within_node() && !goes_shared()) return {AlgorithmChoice::incumbent};
  if (!Team::learns(call().collective))
    return {sibling_choice(team.plan(), call().collective, call().bytes(), call().element, team.size())};
  Table& table = team.table(call().collective);
  const Candidate way = call().nonblocking ? table.next_untimed(call().bytes(), call().element)
                                           : table.next(call().bytes(), call().element);
  return goes_shared() ? way : team.flat(way, call().collective, call().bytes(), call().element);
}

Call Caller::call_by(const Candidate& way) {
  Team& team = *process_.team(call().team);
  const int rank = rank_in(call());
  const bool in_place = call().in_place_at(rank);
  Call what;
  what.collective = call().collective;
  what.counts = call().counts.data();
  what.root = call().root;
  what.send = vectors_.send.data() + (in_place && call().hands_round() ? block_of(call(), rank).begin : 0);
  what.recv = in_place ? vectors_.send.data() : vectors_.recv.data();
  what.count = call().count;
  what.element = call().element;
  what.one_rail = way.one_rail;
  if (!team.within_node())
    what.rails = process_.core().rails_here(team, call().team % 2 == 0 ? world_.setting().rails : way.rails);
  const Hierarchy* const shared = goes_shared() ? team.hierarchy() : nullptr;
  const std::size_t bytes = shared != nullptr ? shared->segment(call().bytes(), call().element) : call().bytes();
  const int among = shared != nullptr ? shared->nodes() : team.size();
  what.chunk = what.collective != Collective::allreduce
                   ? sibling_chunk(team.plan(), what.collective, way, bytes, call().element, among)
                   : team.plan().chunk_for(way, bytes, call().element, among);
  what.reducer = reducer_of(call());
  return what;
}

void Caller::begin_operation(const Candidate& way) {
  const Call what = call_by(way);
  state_ = State::operating;
  world_.call_begun(at_);
  goes_shared() ? start_shared(what, way.algorithm) : start_flat(what, way.algorithm);
  if (!call().nonblocking) return;
  pending_.push_back({at_, started_, how_, began_, std::move(vectors_)});
  ++at_;
  next_call();
}

/// As Engine::carry_barrier() does it: a sum that nobody reads.
void Caller::begin_barrier() {
  state_ = State::operating;
  world_.call_begun(at_);
  nothing_ = 0;
  start_shared(Team::combine({&nothing_, 1}, NEZHA_BOR), fewest_steps(process_.team(call().team)->hierarchy()->nodes()));
}

void Caller::start_flat(const Call& what, AlgorithmChoice algorithm) {
  process_.operation_begins();
  started_ = {false, {0, process_.core().start(*process_.team(call().team), what, algorithm)}};
}

void Caller::start_shared(const Call& what, AlgorithmChoice algorithm) {
  Team& team = *process_.team(call().team);
  const Hierarchy& hierarchy = *team.hierarchy();
  process_.operation_begins();
  if (state_ == State::operating)
    how_ = {algorithm, true, {hierarchy.carriers(what.bytes()), hierarchy.segment(what.bytes(), what.element)}};
  const bool blocks = state_ != State::operating || !call().nonblocking;
  started_ = {true, process_.core().start_shared(team, what, algorithm, blocks)};
}

bool Caller::over(Team& team, const Started& started) {
  return started.shared ? team.hierarchy()->over(started.ticket) : team.finished(started.ticket.number);
}

/// This and the next ones: as Engine::through_stars() and operate_stars() do it.
bool Caller::through_stars(const Candidate& way) {
  Stars* const stars = process_.team(call().team)->stars();
  const bool blocks = way.algorithm == AlgorithmChoice::ring || way.algorithm == AlgorithmChoice::mesh;
  if (stars == nullptr || !blocks || call().collective != Collective::allreduce || call().nonblocking) return false;
  if (call().op == NEZHA_OP_OTHER || !stars->wanted(call().bytes())) return false;
  votes_ = stars->agreement_due();
  return votes_ || stars->in();
}

void Caller::join_stars(const Candidate& way) {
  Team& team = *process_.team(call().team);
  if (!votes_) return begin_stars(way);
  way_ = way;
  state_ = State::joining;
  team.stars()->vote(process_.core().aggregators());
  start_flat(Team::combine(team.stars()->words(), NEZHA_BOR), team.agreement_algorithm());
}

void Caller::begin_stars(const Candidate& way) {
  Team& team = *process_.team(call().team);
  Stars& stars = *team.stars();
  what_ = call_by(way);
  state_ = State::aggregating;
  world_.call_begun(at_);
  process_.operation_begins();
  stars.begin(what_, type_here(), call().op, process_.clock().now());
  Call rest = what_;
  rest.part = stars.rest();
  started_ = {};
  if (rest.part.to != 0) started_.ticket.number = process_.core().start(team, rest, how_.algorithm);
}

bool Caller::stars_settled() {
  Team& team = *process_.team(call().team);
  const bool carried = started_.ticket.number == 0 || over(team, started_);
  return team.stars()->settled(process_.clock().now(), team.operations().overtaken()) && carried;
}

void Caller::confirm() {
  Team& team = *process_.team(call().team);
  process_.operation_ends();
  if (!team.error().empty()) return fail_call();
  state_ = State::confirming;
  start_flat(Team::combine(team.stars()->confirmation(process_.clock().now()), NEZHA_MAX), team.agreement_algorithm());
}

void Caller::confirmed() {
  Team& team = *process_.team(call().team);
  team.stars()->accept(what_);
  lost_ = process_.core().leave_stars(team);
  carry_lost();
}

void Caller::carry_lost() {
  if (lost_.empty()) return finish();
  what_.part = lost_.back();
  lost_.pop_back();
  state_ = State::operating;
  start_flat(what_, how_.algorithm);
}

/// Looks whether calls that do not block have ended.
bool Caller::poll_pending() {
  bool any = false;
  for (std::size_t i = 0; i < pending_.size();) {
    if (!over(*process_.team(call_of(pending_[i]).team), pending_[i].started)) {
      ++i;
      continue;
    }
    Pending pending = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    end_pending(pending);
    any = true;
  }
  return any;
}

void Caller::end_pending(Pending& pending) {
  const Team& team = *process_.team(call_of(pending).team);
  process_.operation_ends();
  if (team.error().empty()) return end_call(pending.at, pending.way, pending.vectors);
  leave_memory(pending.vectors);
  world_.call_failed(pending.at, team.error(), pending.began);
}

const CallSpec& Caller::call_of(const Pending& pending) const { return world_.program().calls[pending.at]; }

bool Caller::has_pending(std::size_t team) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& each) { return call_of(each).team == team; });
}

void Caller::operation_over() {
  Team& team = *process_.team(call().team);
  process_.operation_ends();
  if (!team.error().empty()) return fail_call();
  if (state_ == State::operating) return carry_lost();
  if (state_ == State::confirming) return confirmed();
  if (state_ == State::asking) {
    process_.core().small_agreed(team, allreduce_call());
    return think(0);
  }
  if (state_ == State::joining) {
    process_.core().join_stars(team, process_.core().aggregators());
    return team.stars()->in() ? begin_stars(way_) : begin_operation(way_);
  }
  team.table(call().collective).agreed();
  think(0);
}

/// The team has failed, and with it all its calls.
void Caller::fail_call() {
  poll_pending();
  if (state_ == State::operating || state_ == State::aggregating || state_ == State::small || state_ == State::confirming) leave_memory(vectors_);
  world_.call_failed(at_, process_.team(call().team)->error(), began_);
  lost_.clear();
  process_.destroy_team(call().team);
  failed_.insert(call().team);
  next_call();
}

/// The table's words are combined by an operation of the team.
void Caller::agree() {
  Team& team = *process_.team(call().team);
  state_ = State::agreeing;
  began_ = world_.network().now();
  if (team.within_node())
    start_shared(team.agreement(call().collective), AlgorithmChoice::memory);
  else
    start_flat(team.agreement(call().collective), team.agreement_algorithm());
}

/// Somebody else's allreduce: it takes its time and is right.
void Caller::leave_to_incumbent() {
  const int rank = rank_in(call());
  const Range range = result_at(call(), rank);
  const Bytes& all = world_.expected(at_, how_);
  Bytes& result = call().in_place_at(rank) ? vectors_.send : vectors_.recv;
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(range.begin), range.bytes, result.begin());
  state_ = State::incumbent;
  Team& team = *process_.team(call().team);
  if (!team.within_node()) process_.core().leave_to_incumbent(team, call().bytes());
  const Nanoseconds time = world_.setting().random.between(0, kIncumbentTime);
  until_ = world_.network().now() + time;
  world_.network().after(time, [this] { process_.wake(); });
}

void Caller::finish() {
  Team& team = *process_.team(call().team);
  const Nanoseconds took = world_.network().now() - began_;
  const bool allreduce = call().collective == Collective::allreduce;
  const bool served = !team.within_node() || Hierarchy::carries(call().collective);
  if (state_ != State::small && !call().nonblocking && Team::learns(call().collective) && served)
    team.table(call().collective).took(took);
  if (chose_ && may_go_small()) team.small()->took(took);
  if (allreduce && state_ != State::small && state_ != State::incumbent) process_.core().small_confirmed(team);
  end_call(at_, how_, vectors_);
  state_ = State::draining;
  if (!call().last || !has_pending(call().team)) go_on();
}

void Caller::end_call(std::size_t at, const Carried& way, Vectors& vectors) {
  const CallSpec& call = world_.program().calls[at];
  const int rank = rank_in(call);
  const bool in_place = call.in_place_at(rank);
  const Range range = result_at(call, rank);
  const auto wanted = world_.expected(at, way).begin() + static_cast<std::ptrdiff_t>(range.begin);
  const Bytes& result = in_place ? vectors.send : vectors.recv;
  check(Bytes(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(range.bytes)),
        Bytes(wanted, wanted + static_cast<std::ptrdiff_t>(range.bytes)), "the result");
  if (!in_place) check(vectors.send, vectors.given, "the source after the call");
  check_watched();
  leave_memory(vectors);
  world_.call_done(at, way);
}

/// To the next call.
void Caller::go_on() {
  if (at_ < world_.program().calls.size()) {
    if (call().last) process_.destroy_team(call().team);
    ++at_;
  }
  next_call();
  if (state_ != State::thinking) return;
  Setting& setting = world_.setting();
  const bool thinks = setting.thinker < 0 || setting.thinker == process_.rank();
  const Nanoseconds longest = thinks ? setting.longest_thought : 0;
  SimRandom& random = setting.random;
  think(longest == 0 || random.chance(0.5) ? 0 : random.between(0, longest));
}

/// From here on the memory is the application's. Either it changes it at once, or it finds it as it was left.
void Caller::leave_memory(Vectors& vectors) {
  if (world_.setting().random.chance(0.7)) {
    std::fill(vectors.send.begin(), vectors.send.end(), kScribble);
    std::fill(vectors.recv.begin(), vectors.recv.end(), kScribble);
  }
  keep_watch(std::move(vectors.send));
  keep_watch(std::move(vectors.recv));
}

void Caller::check_watched() {
  for (const Returned& old : watched_) check(old.memory, old.then, "memory of an earlier call");
}

void Caller::keep_watch(Bytes memory) {
  if (memory.empty()) return;
  if (watched_.size() >= kWatched) watched_.erase(watched_.begin());
  Bytes then = memory;
  watched_.push_back({std::move(memory), std::move(then)});
}

void Caller::check(const Bytes& got, const Bytes& wanted, const char* what) {
  const auto same = [&] { return got.empty() || std::memcmp(got.data(), wanted.data(), got.size()) == 0; };
  if (got.size() == wanted.size() && same()) return;
  const auto differs = std::mismatch(got.begin(), got.end(), wanted.begin());
  world_.fail(std::string(what) + " is wrong from byte " + std::to_string(differs.first - got.begin()) + " on; " +
              text());
}

std::string Caller::text() const {
  std::string out = "rank " + std::to_string(process_.rank()) + " thread " + std::to_string(thread_);
  for (const Pending& each : pending_) out += " has call " + std::to_string(each.at) + " under way,";
  if (at_ == world_.program().calls.size()) return out + (done() ? " is done" : " has no other");
  const TeamSpec& team = world_.program().teams[call().team];
  constexpr const char* kStates[] = {"thinks before",     "votes before", "agrees before",
                                     "joins before",      "asks before",  "is in",
                                     "sends through the service in",      "goes whole through the service in",
                                     "confirms",          "leaves",       "waits behind"};
  return out + " " + kStates[static_cast<int>(state_)] + " call " + std::to_string(at_) + " on " + team.name + " of " +
         std::to_string(team.members.size()) + ": " + std::to_string(call().count) + " x " +
         std::to_string(call().element) + " bytes, collective " + std::to_string(static_cast<int>(call().collective)) + (call().in_place ? " in place" : "") + ", algorithm " +
         std::to_string(static_cast<int>(how_.algorithm)) +
         (how_.shared ? ", by way of the nodes' memory" : "");
}

}  // namespace nezha::test
