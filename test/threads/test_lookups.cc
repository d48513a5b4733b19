// SPDX-License-Identifier: BSD-3-Clause
/// What the system's resolver says of the name of an aggregator: nothing, which nobody waits for, or several addresses.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "aggregators.h"
#include "engine/aggregation/inquiry.h"
#include "kinds.h"

namespace nezha::test {
namespace {

using namespace std::chrono_literals;

constexpr char kName[] = "slow.test", kSeveral[] = "several.test";

/// A resolver that answers for kName when it is told to, or in the end by itself.
class Resolver {
 public:
  int look_up() {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    if (!changed_.wait_for(lock, 60s, [&] { return answers_; })) waited_for_ = true;
    ++answered_;
    changed_.notify_all();
    return EAI_AGAIN;
  }
  bool asked(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return asked_ >= times; });
  }
  /// True if it was told before it did so by itself.
  bool answer() {
    std::unique_lock lock(mutex_);
    answers_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return answered_ == asked_; });
    return !waited_for_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0, answered_ = 0;
  bool answers_ = false, waited_for_ = false;
};

Resolver resolver;

TEST(Lookups, AreNotWaitedFor) {
  const KeyFile key("lookups");
  auto ranks = std::make_unique<Ranks>(
      2, Settings{{"single_node", "2"}, {"aggregators", std::string(kName) + ":4757"}, {"aggregator_key", key.path()}},
      nodes(2));
  auto team = std::make_unique<Team>(*ranks, "everybody");
  ASSERT_TRUE(team->start());
  ASSERT_TRUE(resolver.asked(2));
  const Kind& sum = kind("int32_sum");
  ranks->run([&](int rank) {  // the service thread alone goes on with it
    std::vector<std::byte> vector = make_vector(sum, 1000, static_cast<std::size_t>(rank));
    const nezha_call_t call = make_call(sum, 1000, vector.data(), vector.data());
    nezha_request_t* request = nullptr;
    ASSERT_EQ(nezha_start(team->handle(rank), &call, &request), NEZHA_OK);
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (nezha_request_state(request) == NEZHA_PENDING && std::chrono::steady_clock::now() < limit) wait_ms(1);
    EXPECT_EQ(nezha_request_state(request), NEZHA_OK);
    while (nezha_request_state(request) == NEZHA_PENDING) nezha_engine_progress(ranks->at(rank).engine());
    nezha_request_free(request);
  });
  team.reset();
  ranks.reset();
  EXPECT_TRUE(resolver.answer());
}

/// The service listens at one of them alone.
TEST(Lookups, GiveAddressesOfWhichEachIsTried) {
  const KeyFile key("several");
  Aggregator aggregator(key.key());
  const AggregatorAnswer answer = ask_aggregator({kSeveral, aggregator.port()}, key.key(), "n0");
  EXPECT_TRUE(answer.status.ok()) << answer.status.text();
  Settings named = settings(aggregator.port(), key.path(), "50");
  named[2].second = std::string(kSeveral) + ":" + std::to_string(aggregator.port());
  Ranks ranks(2, named, nodes(2));
  Team team(ranks, "everybody");
  ASSERT_TRUE(team.start());
  EXPECT_TRUE(joins(ranks, team));
}

}  // namespace
}  // namespace nezha::test

/// The system's, but for two names.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  if (name != nullptr && std::strcmp(name, nezha::test::kName) == 0) return nezha::test::resolver.look_up();
  static const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name == nullptr || std::strcmp(name, nezha::test::kSeveral) != 0) return system(name, service, hints, found);
  const int error = system("127.0.0.2", service, hints, found);
  return error != 0 ? error : system("127.0.0.1", service, hints, &(*found)->ai_next);
}
