// SPDX-License-Identifier: BSD-3-Clause
/// The C ABI's implementation: nothing but translation. No exception passes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "engine/handles.h"
#include "reduce/reduce.h"
#include "trunk/wire.h"
#include "util/unmapped.h"

namespace {

constexpr std::string_view kNoMemory = "the system refuses memory";

void tell(char* why, std::size_t size, std::string_view text) {
  if (why != nullptr && size != 0) std::snprintf(why, size, "%.*s", static_cast<int>(text.size()), text.data());
}

/// Runs `body`; an exception becomes `failure`.
template <typename Result, typename Body>
Result guarded(Result failure, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return failure;
  }
}

template <typename Body>
void guarded(Body body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

using Words = std::array<std::uint64_t, NEZHA_VOTE_WORDS>;

}  // namespace

extern "C" {

int nezha_engine_create(const nezha_config_t* config, const nezha_host_t* host, const nezha_self_t* self,
                        nezha_engine_t** engine, char* why, size_t why_size) {
  *engine = nullptr;
  tell(why, why_size, kNoMemory);
  return guarded(static_cast<int>(NEZHA_ERR_MEMORY), [&]() -> int {
    std::unique_ptr<nezha_engine> made(new nezha_engine{{nezha::config_of(*config), *host, *self}});
    const nezha::Status status = made->engine.open();
    tell(why, why_size, status.text());
    *engine = made.release();
    return status.ok() ? NEZHA_OK : NEZHA_ERR_RAILS;
  });
}

void nezha_engine_destroy(nezha_engine_t* engine) {
  if (engine == nullptr || engine->engine.abandoned()) return;  // in a forked child it belongs to the parent
  delete engine;
}

const void* nezha_engine_address(nezha_engine_t* engine, size_t* size) {
  *size = engine->engine.address().size();
  return engine->engine.address().data();
}

nezha_peer_t* nezha_engine_peer(nezha_engine_t* engine, const void* address, size_t size, int same_node, char* why,
                                size_t why_size) {
  tell(why, why_size, kNoMemory);
  return guarded(static_cast<nezha_peer_t*>(nullptr), [&] {
    nezha::Status status;
    nezha::Peer* peer = engine->engine.add_peer({static_cast<const std::byte*>(address), size}, same_node != 0, status);
    tell(why, why_size, status.text());
    return reinterpret_cast<nezha_peer_t*>(peer);
  });
}

void nezha_engine_message(nezha_engine_t* engine, const nezha_bytes_t* pieces, size_t count) {
  guarded([&] { engine->engine.message({pieces, count}); });
}

int nezha_engine_host_carries(nezha_engine_t* engine) { return engine->engine.host_carries() ? 1 : 0; }

int nezha_engine_lends(nezha_engine_t* engine) { return engine->engine.lends() ? 1 : 0; }

void nezha_memory_watched(int on) { nezha::hear_of_unmapping(on != 0); }

void nezha_memory_unmapped(const void* from, size_t size) { nezha::note_unmapped(from, size); }

void nezha_engine_abandon(nezha_engine_t* engine) { engine->engine.abandon(); }

nezha_team_t* nezha_team_create(nezha_engine_t* engine, const nezha_team_spec_t* spec) {
  return guarded(static_cast<nezha_team_t*>(nullptr), [&] {
    nezha::Team* team = engine->engine.create_team(*spec);
    if (team == nullptr) return static_cast<nezha_team_t*>(nullptr);
    auto* handle = new (std::nothrow) nezha_team{engine->engine, *team};
    if (handle == nullptr) engine->engine.destroy_team(*team);
    return handle;
  });
}

void nezha_team_destroy(nezha_team_t* team) {
  guarded([&] { team->engine.destroy_team(team->team); });
  delete team;
}

int nezha_team_agreement_due(nezha_team_t* team, size_t bytes) {
  return guarded(0, [&] { return team->engine.agreement_due(team->team, bytes) ? 1 : 0; });
}

void nezha_team_vote(nezha_team_t* team, uint64_t words[NEZHA_VOTE_WORDS]) {
  Words all{};
  const bool voted = guarded(false, [&] {
    team->engine.vote(team->team, all);
    return true;
  });
  if (!voted) return nezha_vote_no(words);
  std::copy(all.begin(), all.end(), words);
}

void nezha_vote_no(uint64_t words[NEZHA_VOTE_WORDS]) {
  nezha::Team::vote_no(std::span<std::uint64_t, NEZHA_VOTE_WORDS>(words, NEZHA_VOTE_WORDS));
}

nezha_team_state_t nezha_team_decide(nezha_team_t* team, const uint64_t words[NEZHA_VOTE_WORDS]) {
  return guarded(NEZHA_TEAM_DECLINED, [&] {
    Words all;
    std::copy(words, words + NEZHA_VOTE_WORDS, all.begin());
    return team->engine.decide(team->team, all);
  });
}

int nezha_team_vote_again(nezha_team_t* team) {
  return guarded(0, [&] { return team->engine.votes_again(team->team) ? 1 : 0; });
}

int nezha_team_shares_memory(const nezha_team_t* team) {
  return guarded(0, [&] { return team->engine.shares_memory(team->team) ? 1 : 0; });
}

void nezha_team_error(nezha_team_t* team, char* text, size_t size) {
  tell(text, size, "");
  guarded([&] { tell(text, size, team->engine.error_of(team->team)); });
}

void nezha_team_give_up(nezha_team_t* team, const char* why) {
  guarded([&] { team->engine.give_up(team->team, why); });
}

int nezha_reduce(nezha_type_t type, nezha_op_t op, const void* in, void* inout, size_t count) {
  const nezha::ReduceKernel kernel = nezha::find_kernel(type, op);
  if (kernel == nullptr) return NEZHA_ERR_PARAM;
  kernel(in, inout, inout, count);
  return NEZHA_OK;
}

int nezha_carry(nezha_team_t* team, const nezha_call_t* call) {
  return guarded(static_cast<int>(NEZHA_ERR_MEMORY), [&] { return team->engine.collective(team->team, *call); });
}

void nezha_incumbent_done(nezha_team_t* team, nezha_collective_t collective) {
  guarded([&] { team->engine.incumbent_done(team->team, static_cast<nezha::Collective>(collective)); });
}

int nezha_start(nezha_team_t* team, const nezha_call_t* call, nezha_request_t** request) {
  return guarded(static_cast<int>(NEZHA_ERR_MEMORY), [&] {
    nezha::Request* begun = nullptr;
    const int status = team->engine.start(team->team, *call, begun);
    *request = reinterpret_cast<nezha_request_t*>(begun);
    return status;
  });
}

int nezha_engine_progress(nezha_engine_t* engine) {
  return guarded(0, [&] { return engine->engine.progress() ? 1 : 0; });
}

int nezha_request_state(const nezha_request_t* request) {
  return reinterpret_cast<const nezha::Request*>(request)->state.load(std::memory_order_acquire);
}

void nezha_request_free(nezha_request_t* request) {
  nezha::Request& over = *reinterpret_cast<nezha::Request*>(request);
  guarded([&] { over.engine->give_back(over); });
}

void nezha_engine_ending(nezha_engine_t* engine, int fence) {
  guarded([&] { engine->engine.ending(fence != 0); });
}

void nezha_engine_part(nezha_engine_t* engine) {
  guarded([&] { engine->engine.part(); });
}

size_t nezha_engine_rails(nezha_engine_t* engine) {
  return guarded(size_t{0}, [&] { return engine->engine.rails(); });
}

int nezha_engine_rail_stats(nezha_engine_t* engine, size_t index, nezha_rail_stats_t* stats) {
  return guarded(static_cast<int>(NEZHA_ERR_MEMORY),
                 [&]() -> int { return engine->engine.rail_stats(index, *stats) ? NEZHA_OK : NEZHA_ERR_PARAM; });
}

int nezha_engine_rail_nic(nezha_engine_t* engine, size_t index, nezha_rail_nic_t* nic) {
  return guarded(static_cast<int>(NEZHA_ERR_MEMORY),
                 [&]() -> int { return engine->engine.rail_nic(index, *nic) ? NEZHA_OK : NEZHA_ERR_PARAM; });
}

void nezha_engine_class_stats(nezha_engine_t* engine, nezha_class_stats_t stats[NEZHA_SIZE_CLASSES]) {
  guarded([&] { engine->engine.class_stats(stats); });
}

void nezha_engine_memory_stats(nezha_engine_t* engine, nezha_memory_stats_t* stats) {
  guarded([&] { *stats = engine->engine.memory_stats(); });
}

void nezha_engine_totals(nezha_engine_t* engine, uint64_t* calls, uint64_t* bytes) {
  guarded([&] { engine->engine.totals(*calls, *bytes); });
}

}  // extern "C"
