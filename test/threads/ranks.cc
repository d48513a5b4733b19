// SPDX-License-Identifier: BSD-3-Clause
#include "ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

namespace nezha::test {
namespace {

std::vector<int> all_ranks(int size) {
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

// ---- Post -----------------------------------------------------------------------------------------------------------

void Post::put(std::uint32_t rank, Message message) {
  const std::lock_guard guard(mutex_);
  messages_[rank].push_back(std::move(message));
}

std::vector<Post::Message> Post::take(std::uint32_t rank) {
  const std::lock_guard guard(mutex_);
  return std::exchange(messages_[rank], {});
}

// ---- Rank -----------------------------------------------------------------------------------------------------------

Rank::Rank(int rank, const std::string& node, const Settings& settings, Post* post)
    : rank_(static_cast<std::uint32_t>(rank)), post_(post) {
  nezha_config_t* config = nezha_config_create();
  char why[256] = "";
  // No host has an allreduce of its own here: what learns leaves calls to it.
  EXPECT_EQ(nezha_config_set(config, "learn", "0", why, sizeof why), NEZHA_OK) << why;
  for (const auto& [name, value] : settings)
    EXPECT_EQ(nezha_config_set(config, name.c_str(), value.c_str(), why, sizeof why), NEZHA_OK) << why;
  const nezha_host_t host{this, log, help, progress, reduce, post_ == nullptr ? nullptr : send, bring, deliver};
  const nezha_self_t self{rank_, node.c_str(), 0, 0};
  result_ = nezha_engine_create(config, &host, &self, &engine_, why, sizeof why);
  why_ = why;
  nezha_config_destroy(config);
}

Rank::~Rank() { destroy(); }

void Rank::destroy() {
  nezha_engine_destroy(engine_);
  engine_ = nullptr;
}

std::vector<std::byte> Rank::address() const {
  std::size_t size = 0;
  const auto* bytes = static_cast<const std::byte*>(nezha_engine_address(engine_, &size));
  return {bytes, bytes + size};
}

std::vector<nezha_rail_stats_t> Rank::rails() const {
  std::vector<nezha_rail_stats_t> result(nezha_engine_rails(engine_));
  for (std::size_t i = 0; i < result.size(); ++i)
    EXPECT_EQ(nezha_engine_rail_stats(engine_, i, &result[i]), NEZHA_OK);
  return result;
}

std::uint64_t Rank::calls() const {
  std::uint64_t calls = 0, bytes = 0;
  nezha_engine_totals(engine_, &calls, &bytes);
  return calls;
}

nezha_memory_stats_t Rank::memory() const {
  nezha_memory_stats_t stats{};
  nezha_engine_memory_stats(engine_, &stats);
  return stats;
}

std::vector<HelpText> Rank::helps() const {
  const std::lock_guard guard(mutex_);
  return helps_;
}

std::vector<std::string> Rank::lines() const {
  const std::lock_guard guard(mutex_);
  return lines_;
}

std::uint64_t Rank::progress_calls() const {
  const std::lock_guard guard(mutex_);
  return progress_calls_;
}

void Rank::on_progress(std::function<void()> what) {
  const std::lock_guard guard(mutex_);
  on_progress_ = std::move(what);
}

void Rank::log(void* ctx, int, const char* line) {
  Rank& self = *static_cast<Rank*>(ctx);
  const std::lock_guard guard(self.mutex_);
  self.lines_.emplace_back(line);
}

void Rank::help(void* ctx, const char* topic, int count, const char* const* arguments) {
  Rank& self = *static_cast<Rank*>(ctx);
  const std::lock_guard guard(self.mutex_);
  self.helps_.push_back({topic, {arguments, arguments + count}});
}

int Rank::progress(void* ctx) {
  Rank& self = *static_cast<Rank*>(ctx);
  std::function<void()> what;
  {
    const std::lock_guard guard(self.mutex_);
    ++self.progress_calls_;
    what = self.on_progress_;
  }
  if (what) what();
  if (self.post_ == nullptr) return 0;
  for (const Post::Message& message : self.post_->take(self.rank_)) {
    const nezha_bytes_t piece{message.data(), message.size()};
    nezha_engine_message(self.engine_, &piece, 1);
  }
  return 0;
}

void Rank::poll() {
  progress(this);
  nezha_engine_progress(engine_);
}

int Rank::send(void* ctx, unsigned, std::uint32_t job_rank, const void* head, std::size_t head_size, const void* body,
               std::size_t body_size) {
  Post::Message message(head_size + body_size);
  std::memcpy(message.data(), head, head_size);
  if (body_size != 0) std::memcpy(message.data() + head_size, body, body_size);
  static_cast<Rank*>(ctx)->post_->put(job_rank, std::move(message));
  return NEZHA_OK;
}

void Rank::reduce(void*, void* operation, const void* in, void* inout, std::size_t, std::size_t count) {
  const auto& op = *static_cast<const HostOperation*>(operation);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(in) % op.alignment, 0u) << "the host's operand is not aligned";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(inout) % op.alignment, 0u) << "the host's result is not aligned";
  auto* out = static_cast<std::byte*>(inout);
  op.fold(static_cast<const std::byte*>(in), out, out, count);
}

int Rank::bring(void*, void* elsewhere, const void** send, void** recv) {
  Elsewhere& vector = *static_cast<Elsewhere*>(elsewhere);
  ++vector.brought;
  vector.here = vector.there;
  *send = *recv = vector.here.data();
  return vector.bringing();
}

int Rank::deliver(void*, void* elsewhere) {
  Elsewhere& vector = *static_cast<Elsewhere*>(elsewhere);
  ++vector.delivered;
  vector.there = vector.here;
  return NEZHA_OK;
}

// ---- Ranks ----------------------------------------------------------------------------------------------------------

Ranks::Ranks(int size, const std::function<Settings(int)>& settings_of, std::vector<std::string> nodes, Post* post)
    : nodes_(std::move(nodes)) {
  if (nodes_.empty()) nodes_.assign(static_cast<std::size_t>(size), "here");
  for (int rank = 0; rank < size; ++rank)
    ranks_.push_back(std::make_unique<Rank>(rank, nodes_[static_cast<std::size_t>(rank)], settings_of(rank), post));
  for (int rank = 0; rank < size; ++rank) {
    std::vector<nezha_peer_t*>& row = peers_.emplace_back();
    for (int other = 0; other < size; ++other) {
      const std::vector<std::byte> address = at(other).address();
      char why[256] = "";
      row.push_back(other == rank ? nullptr
                                  : nezha_engine_peer(at(rank).engine(), address.data(), address.size(), 1, why, sizeof why));
      EXPECT_TRUE(other == rank || row.back() != nullptr) << why;
    }
  }
}

nezha_peer_t* Ranks::peer(int from, int to) const {
  return peers_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

void Ranks::run(const std::function<void(int)>& body) const {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size(); ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

std::vector<int> Ranks::ring_order(const std::vector<int>& members) const {
  std::vector<int> order;
  const auto node = [&](int rank) { return nodes_[static_cast<std::size_t>(rank)]; };
  for (const int first : members)
    for (const int rank : members)
      if (node(rank) == node(first) && std::find(order.begin(), order.end(), rank) == order.end()) order.push_back(rank);
  return order;
}

// ---- OrAllreduce ----------------------------------------------------------------------------------------------------

void OrAllreduce::combine(Words& words) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < words.size(); ++i) sum_[i] |= words[i];
  const std::uint64_t round = round_;
  if (++arrived_ == members_) {
    result_ = sum_;
    sum_ = {};
    arrived_ = 0;
    ++round_;
    all_here_.notify_all();
  }
  all_here_.wait(lock, [&] { return round_ != round; });
  words = result_;
}

// ---- Team -----------------------------------------------------------------------------------------------------------

Team::Team(Ranks& ranks, std::string name, std::vector<int> members)
    : ranks_(ranks), name_(std::move(name)), members_(std::move(members)), handles_(members_.size()), votes_(size()) {}

Team::Team(Ranks& ranks, std::string name) : Team(ranks, std::move(name), all_ranks(ranks.size())) {}

Team::~Team() {
  for (const int rank : members_)
    if (ranks_.at(rank).engine() != nullptr) destroy(rank);
}

bool Team::has(int rank) const { return std::find(members_.begin(), members_.end(), rank) != members_.end(); }

std::size_t Team::index_of(int rank) const {
  return static_cast<std::size_t>(std::find(members_.begin(), members_.end(), rank) - members_.begin());
}

void Team::create(int rank) {
  std::vector<nezha_peer_t*> peers;
  for (const int other : members_) peers.push_back(other == rank ? nullptr : ranks_.peer(rank, other));
  const nezha_team_spec_t spec{name_.c_str(), size(), static_cast<int>(index_of(rank)), peers.data(), 0, within_node};
  handles_[index_of(rank)] = nezha_team_create(ranks_.at(rank).engine(), &spec);
  EXPECT_NE(handle(rank), nullptr);
}

nezha_team_state_t Team::vote(int rank) {
  OrAllreduce::Words words{};
  nezha_team_vote(handle(rank), words.data());
  votes_.combine(words);
  if (before_deciding) before_deciding(rank);
  const nezha_team_state_t state = nezha_team_decide(handle(rank), words.data());
  if (after_deciding) after_deciding(rank);
  return state;
}

nezha_team_state_t Team::agree(int rank) {
  for (;;) {
    if (handle(rank) == nullptr) {
      OrAllreduce::Words words{};
      nezha_vote_no(words.data());
      votes_.combine(words);
      return NEZHA_TEAM_DECLINED;
    }
    if (nezha_team_agreement_due(handle(rank), foreseen) == 0) continue;
    const nezha_team_state_t state = vote(rank);
    if (state != NEZHA_TEAM_WIRING) return state;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

nezha_team_state_t Team::agree_before_first_call(int rank) {
  EXPECT_NE(nezha_team_agreement_due(handle(rank), foreseen), 0);
  nezha_team_state_t state = vote(rank);
  while (state == NEZHA_TEAM_WIRING && nezha_team_vote_again(handle(rank)) != 0) state = vote(rank);
  return state;
}

void Team::destroy(int rank) {
  nezha_team_t*& mine = handles_[index_of(rank)];
  if (mine != nullptr) nezha_team_destroy(mine);
  mine = nullptr;
}

bool Team::start() {
  std::vector<nezha_team_state_t> states(members_.size());
  ranks_.run([&](int rank) {
    if (!has(rank)) return;
    create(rank);
    states[index_of(rank)] = agree(rank);
  });
  return std::all_of(states.begin(), states.end(), [](auto state) { return state == NEZHA_TEAM_READY; });
}

}  // namespace nezha::test
