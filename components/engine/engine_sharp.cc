// SPDX-License-Identifier: BSD-3-Clause
/// Calls of which a part goes through the SHARP library, beside an operation over the rails for the rest.
#include <time.h>

#include <cstring>
#include <utility>

#include "engine/combine.h"
#include "engine/engine.h"
#include "engine/sharp_opening.h"

namespace nezha {
namespace {

constexpr timespec kOpeningLook = {0, 500 * kMicrosecond};

}  // namespace

/// Null: the team uses none. Alike on all members, since it follows from the agreed plan and from what the team is.
SharpWay* Engine::sharp_of(const Team& team) {
  const Plan& plan = team.plan();
  if (!plan.sharp || plan.pins_bits() || plan.aggregators || team.hierarchy() != nullptr || team.within_node()) return nullptr;
  std::unique_ptr<SharpWay>& sharp = sharps_[&team];
  if (!sharp) sharp = std::make_unique<SharpWay>(plan.aggregator_share);
  return sharp.get();
}

/// Whether a part of this call goes through SHARP. The members may agree on its kind, and come to their group, first.
bool Engine::through_sharp(Lock& lock, Team& team, const nezha_call_t& what) {
  SharpWay* const sharp = sharp_of(team);
  while (sharp != nullptr && team.error().empty() && sharp->suits(what)) {
    AgreedKinds& kinds = sharp->kinds();
    if (kinds.of(what.element, what.op) == AgreedKinds::Answer::unknown) {
      operate(lock, team, combine(kinds.words(sharp->has(what)), NEZHA_BOR), team.agreement_algorithm());
      kinds.agreed(what.element, what.op);
    } else if (sharp->untried()) {
      open_sharp(lock, team, *sharp);
    } else {
      return sharp->wanted(what);
    }
  }
  return false;
}

/// ORs bytes over the members.
void Engine::combine_for_sharp(Lock& lock, Team& team, std::span<std::byte> bytes) {
  std::vector<std::uint64_t> words((bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const Call call = combine(words, NEZHA_BOR);
  operate(lock, team, call, call.bytes() <= kMostCopied ? team.agreement_algorithm() : AlgorithmChoice::ring);
  std::memcpy(bytes.data(), words.data(), bytes.size());
}

/// See SharpOpening. This thread may wait here: the caller of a blocking call, to which all members have come.
void Engine::open_sharp(Lock& lock, Team& team, SharpWay& sharp) {
  std::byte all_are_here{};
  combine_for_sharp(lock, team, {&all_are_here, 1});
  if (!team.error().empty()) return;
  SharpGroup::Spec spec;
  spec.library = core_.config().sharp_library.text;
  spec.job_id = team.id();
  spec.rank = team.rank();
  spec.size = team.size();
  SharpOpening opening(std::move(spec));
  SharpOpening::Words words;
  for (;;) {
    const Nanoseconds until = clock_.now() + core_.config().connect_timeout * kSecond;
    while (!opening.has_news() && clock_.now() < until) {
      const Unlocked meanwhile(lock);
      host_.progress(host_.ctx);
      nanosleep(&kOpeningLook, nullptr);
    }
    if (!opening.has_news())
      opening.abandon("the library has not answered within coll_nezha_connect_timeout = " +
                      std::to_string(core_.config().connect_timeout) + " s");
    words = opening.words();
    combine_for_sharp(lock, team, std::as_writable_bytes(std::span(words)));
    if (!team.error().empty()) return;
    if (SharpOpening::over(words)) break;
    std::vector<std::byte> bytes = opening.contribution(words);
    if (bytes.empty()) continue;
    combine_for_sharp(lock, team, bytes);
    if (!team.error().empty()) return;
    opening.answer(bytes);
  }
  sharp.opened(opening.group(words), SharpOpening::types(words), SharpOpening::ops(words));
  if (sharp.open()) return core_.log().line(team.rank() == 0 ? 1 : 2, "team %s reduces through SHARP too", team.name().c_str());
  const Status status = opening.status();
  core_.log().line(1, "team %s goes over the rails alone, without SHARP: %s", team.name().c_str(),
                   status.ok() ? "another rank has no group" : status.text().c_str());
  if (!status.ok()) core_.notify({"no sharp", {team.name(), core_.self().node, status.text()}});
  const Unlocked meanwhile(lock);
  if (std::unique_ptr<SharpGroup> group = opening.rest()) leave_sharp(std::move(group));
}

/// Both ways at once, then a word of all members on whether they have all sums; where one lacks some, the rails carry that
/// part. Returns how many bytes of the vector went through SHARP.
std::size_t Engine::operate_sharp(Lock& lock, Team& team, const nezha_call_t& what, const Call& call, AlgorithmChoice choice) {
  SharpWay& sharp = *sharp_of(team);
  const Nanoseconds start = clock_.now();
  Call first = call, second = call;
  first.count = sharp.rest(what);
  first.whole = second.whole = call.bytes();
  second.count -= first.count;
  second.send += first.bytes();
  second.recv += first.bytes();
  second.reducer.begin += first.bytes();
  {
    const Unlocked meanwhile(lock);
    sharp.begin({second.send, second.bytes()}, what);
  }
  operate_beside(lock, team, first, choice, [&](bool carried) { return sharp.settled(clock_.now(), carried); });
  if (team.error().empty())
    operate(lock, team, combine(sharp.confirmation(clock_.now() - start), NEZHA_MAX), team.agreement_algorithm());
  if (team.error().empty() && !sharp.lacking()) {
    sharp.took(call.bytes());
    const Unlocked meanwhile(lock);
    sharp.take({second.recv, second.bytes()});
    return second.bytes();
  }
  std::unique_ptr<SharpGroup> group = sharp.leave();
  if (team.error().empty()) carry_without_sharp(lock, team, second, choice, sharp.trouble());
  const Unlocked meanwhile(lock);
  leave_sharp(std::move(group));
  return 0;
}

/// The part of a call that SHARP did not bring, which is still in the caller's memory.
void Engine::carry_without_sharp(Lock& lock, Team& team, const Call& part, AlgorithmChoice choice, const Status& trouble) {
  core_.log().line(1, "team %s goes on over the rails alone, without SHARP: %s", team.name().c_str(),
                   trouble.ok() ? "another rank lacks sums" : trouble.text().c_str());
  if (!trouble.ok()) core_.notify({"no sharp", {team.name(), core_.self().node, trouble.text()}});
  operate(lock, team, part, choice);
}

}  // namespace nezha
