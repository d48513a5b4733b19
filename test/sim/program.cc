// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace nezha::test {
namespace {

constexpr std::size_t kDifferent = 2;  ///< calls, when they repeat

struct Kind {
  nezha_type_t type;
  nezha_op_t op;
  std::size_t element;
};
constexpr Kind kKinds[] = {
    {NEZHA_FLOAT, NEZHA_SUM, 4},  {NEZHA_FLOAT, NEZHA_SUM, 4},          {NEZHA_DOUBLE, NEZHA_SUM, 8},
    {NEZHA_FLOAT, NEZHA_PROD, 4}, {NEZHA_DOUBLE, NEZHA_MAX, 8},         {NEZHA_FLOAT, NEZHA_MIN, 4},
    {NEZHA_INT32, NEZHA_SUM, 4},  {NEZHA_INT64, NEZHA_PROD, 8},         {NEZHA_UINT8, NEZHA_BXOR, 1},
    {NEZHA_INT16, NEZHA_MAX, 2},  {NEZHA_COMPLEX_FLOAT, NEZHA_PROD, 8}, {NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, 12},
};

std::size_t draw_bytes(std::size_t largest, SimRandom& random) {
  const double what = random.real();
  const std::size_t limit = what < 0.35 ? 256 : what < 0.7 ? 8 * 1024 : what < 0.95 ? 64 * 1024 : largest;
  const std::size_t bytes = 1 + random.below(std::min(limit, largest));
  return random.chance(0.3) ? std::bit_ceil(bytes) : bytes;
}

CallSpec draw_call(std::size_t team, const ProgramShape& shape, SimRandom& random) {
  CallSpec call;
  const Kind& kind = kKinds[random.below(std::size(kKinds))];
  call.team = team;
  call.type = kind.type;
  call.op = kind.op;
  call.element = kind.element;
  if (kind.type == NEZHA_TYPE_OTHER && random.chance(0.3)) call.element = 1 + random.below(3000);
  call.count = std::max<std::size_t>(draw_bytes(shape.largest, random) / call.element, 1);
  if (shape.large != 0 && random.chance(shape.large))
    call.count = (shape.largest / 8 + random.below(shape.largest / 8 * 7)) / call.element + 1;
  call.in_place = random.chance(0.5);
  call.hostile = random.chance(0.7);
  call.seed = random.next();
  call.nonblocking = random.chance(shape.nonblocking);
  return call;
}

/// Makes another collective of a call.
void draw_sibling(CallSpec& call, std::size_t size, SimRandom& random) {
  constexpr Collective kOthers[] = {Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
                                    Collective::reduce, Collective::barrier};
  call.collective = kOthers[random.below(std::size(kOthers))];
  call.root = static_cast<int>(random.below(size));
  if (call.collective == Collective::barrier) {
    call.element = call.count = 1;
    call.type = NEZHA_UINT8;
    call.op = NEZHA_BXOR;
  }
  if (!has_blocks(call.collective)) return;
  call.counts.assign(size, call.count / size);
  if (random.chance(0.5))
    for (std::size_t& count : call.counts) count = random.chance(0.3) ? 0 : random.below(2 * (count + 1));
  std::size_t& longer = call.counts[random.below(size)];
  if (call.seed % 2 == 0)
    call.counts.assign(size, std::max<std::size_t>(call.count / size, 1));
  else
    ++longer;
  call.count = std::accumulate(call.counts.begin(), call.counts.end(), std::size_t{0});
}

/// Some ranks of one node, in any order; else, if there is none with several, none.
std::vector<int> draw_mates(const ProgramShape& shape, SimRandom& random) {
  const int node = shape.nodes[random.below(shape.nodes.size())];
  std::vector<int> mates;
  for (int rank = 0; rank < shape.ranks; ++rank)
    if (shape.nodes[static_cast<std::size_t>(rank)] == node) mates.push_back(rank);
  if (mates.size() < 2) return {};
  for (std::size_t i = mates.size() - 1; i > 0; --i) std::swap(mates[i], mates[random.below(i + 1)]);
  if (random.chance(0.5)) mates.resize(2 + random.below(mates.size() - 1));
  return mates;
}

std::vector<int> draw_members(const ProgramShape& shape, SimRandom& random) {
  if (!shape.nodes.empty() && random.chance(0.25))
    if (std::vector<int> mates = draw_mates(shape, random); !mates.empty()) return mates;
  std::vector<int> members(static_cast<std::size_t>(shape.ranks));
  std::iota(members.begin(), members.end(), 0);
  if (random.chance(0.5)) {
    for (std::size_t i = members.size() - 1; i > 0; --i) std::swap(members[i], members[random.below(i + 1)]);
    members.resize(2 + random.below(members.size() - 1));
    if (random.chance(0.5)) std::sort(members.begin(), members.end());
  }
  return members;
}

/// All are of one node, as the shape has them.
bool on_one_node(const ProgramShape& shape, const std::vector<int>& members) {
  const auto node = [&](int rank) { return shape.nodes[static_cast<std::size_t>(rank)]; };
  return !shape.nodes.empty() &&
         std::all_of(members.begin(), members.end(), [&](int rank) { return node(rank) == node(members[0]); });
}

}  // namespace

Program::Program(const ProgramShape& shape, SimRandom& random) {
  std::vector<std::size_t> open;
  const auto add_team = [&] {
    open.push_back(teams.size());
    teams.push_back({"team" + std::to_string(teams.size()), draw_members(shape, random),
                     static_cast<int>(random.below(static_cast<std::uint64_t>(shape.threads)))});
    TeamSpec& team = teams.back();
    team.within_node = on_one_node(shape, team.members) && random.chance(0.8);
  };
  for (int i = 0; i <= shape.threads; ++i) add_team();
  while (calls.size() < shape.calls) {
    if (random.chance(0.05)) add_team();
    const std::size_t which = random.below(open.size());
    const auto like = random.below(calls.size() + 1);
    calls.push_back(draw_call(open[which], shape, random));
    if (!shape.repeats && random.chance(0.4)) draw_sibling(calls.back(), teams[open[which]].members.size(), random);
    if (shape.repeats && calls.size() > kDifferent) {
      CallSpec again = calls[like % kDifferent];
      again.team = open[which];
      again.seed = calls.back().seed;
      again.nonblocking = calls.back().nonblocking;
      again.last = false;
      calls.back() = again;
    }
    if (open.size() > 1 && random.chance(0.05)) {
      calls.back().last = true;
      calls.back().nonblocking = false;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

bool CallSpec::in_place_at(int rank) const {
  if (collective == Collective::broadcast) return true;
  return in_place && (collective != Collective::reduce || rank == root) && collective != Collective::barrier;
}

}  // namespace nezha::test
