// SPDX-License-Identifier: BSD-3-Clause
/// Allreduces of which a part goes through the SHARP library, of which test/sharp/stub.cc has the place, to an aggregator: sums,
/// faults of one rank's library and of the aggregator, and when it is not used.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregators.h"

namespace nezha::test {
namespace {

constexpr std::size_t kCount = 300001;

/// A word of the environment, as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

/// The calling thread gets no other ones.
thread_local bool refused = false;

/// The faults of the stub.
class Stub : public Variable {
 public:
  explicit Stub(const char* faults) : Variable("NEZHA_SHARP_STUB", faults) {}
};

Settings sharp_settings(const std::string& share, const Settings& more = {}) {
  Settings all = {{"single_node", "2"}, {"verbose", "1"}, {"sharp", "1"}, {"aggregator_share", share}};
  const char* const build = std::getenv("NEZHA_BUILD_DIR");
  all.emplace_back("sharp_library", std::string(build == nullptr ? "." : build) + "/test/sharp/.libs/stub.so");
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// The reasons that help texts give.
std::string told(const Rank& rank) {
  std::string reasons;
  for (const HelpText& help : rank.helps())
    if (help.topic == "no sharp") reasons += help.arguments.at(2) + "\n";
  return reasons;
}

/// Bytes that went through SHARP.
std::uint64_t reduced(const Rank& rank) {
  std::array<nezha_class_stats_t, NEZHA_SIZE_CLASSES> classes{};
  nezha_engine_class_stats(rank.engine(), classes.data());
  std::uint64_t bytes = 0;
  for (const nezha_class_stats_t& each : classes) bytes += each.aggregated;
  return bytes;
}

class Sharp : public testing::Test {
 protected:
  void begin(int size, const Settings& of) {
    ranks_ = std::make_unique<Ranks>(size, of, nodes(size));
    team_ = std::make_unique<Team>(*ranks_, "everybody");
    ASSERT_TRUE(team_->start());
  }

  /// One call on every rank, of a kind whose sums have the same bits in any order. `without`: a rank that passes another type of
  /// the same signature, which only its host can reduce.
  void add_up(const std::string& name, std::size_t count, bool in_place, int without = -1) {
    const Kind& sum = kind(name);
    const Sums& sums = ring_sums(sum, count, team_->members());
    ranks_->run([&](int rank) {
      const std::vector<std::byte>& send = sums.vectors[static_cast<std::size_t>(rank)];
      std::vector<std::byte> recv(in_place ? send : std::vector<std::byte>(send.size()));
      const std::byte* from = in_place ? recv.data() : send.data();
      nezha_call_t call = make_call(sum, count, from, recv.data());
      if (rank == without) call.type = NEZHA_TYPE_OTHER;
      refused = rank == alone_;
      ASSERT_EQ(team_->allreduce(rank, call), NEZHA_OK);
      refused = false;
      ASSERT_TRUE(same_bytes(recv, sums.result)) << "on rank " << rank << ", " << count << " of " << name;
    });
  }

  /// Calls with sums that do not depend on SHARP.
  void add_up_often(int calls = 6) {
    for (int call = 0; call < calls; ++call) add_up("int32_sum", kCount, call % 2 == 0);
  }

  const Rank& rank(int number) { return ranks_->at(number); }

  int alone_ = -1;  ///< a rank to which the system refuses threads

  const KeyFile key_{"sharp"};
  std::unique_ptr<Aggregator> aggregator_ = std::make_unique<Aggregator>(key_.key());
  const Variable service_{"NEZHA_SHARP_STUB_SERVICE", place(aggregator_->port()) + " " + key_.path() + " single_node=2"};
  std::unique_ptr<Ranks> ranks_;
  std::unique_ptr<Team> team_;
};

class Shares : public Sharp, public testing::WithParamInterface<std::tuple<int, std::string>> {};

TEST_P(Shares, GiveTheSums) {
  begin(std::get<0>(GetParam()), sharp_settings(std::get<1>(GetParam())));
  for (const char* name : {"int32_sum", "uint64_max", "int64_bxor"})
    for (const std::size_t count : {std::size_t{262144}, kCount, std::size_t{1000003}})
      for (const bool in_place : {false, true}) add_up(name, count, in_place);
  EXPECT_TRUE(said(rank(0), "reduces through SHARP too"));
  EXPECT_GT(reduced(rank(0)), 0U);
  for (int number = 1; number < ranks_->size(); ++number) EXPECT_EQ(reduced(rank(number)), reduced(rank(0)));
  if (said(rank(0), "on over the rails alone")) return;  // a busy machine: some rank has lost patience with the aggregator
  const std::uint64_t through = reduced(rank(0));
  aggregator_->finish();
  EXPECT_EQ(aggregator_->service().counts().bytes, through) << "all of it came from the aggregator";
}

INSTANTIATE_TEST_SUITE_P(All, Shares, testing::Values(std::tuple(2, "37"), std::tuple(3, "auto"), std::tuple(5, "100")));

TEST_F(Sharp, GivesAllRanksTheSameBits) {
  begin(3, sharp_settings("60"));
  const Kind& sum = kind("float_sum");
  std::vector<std::vector<std::byte>> results(3);
  ranks_->run([&](int number) {
    results[static_cast<std::size_t>(number)] = make_vector(sum, kCount, static_cast<std::size_t>(number));
    std::byte* const data = results[static_cast<std::size_t>(number)].data();
    ASSERT_EQ(team_->allreduce(number, make_call(sum, kCount, data, data)), NEZHA_OK);
  });
  EXPECT_TRUE(results[0] == results[1] && results[0] == results[2]);
  EXPECT_GT(reduced(rank(0)), 0U);
}

/// Several communicators have groups of their own.
TEST_F(Sharp, ServesSeveralTeams) {
  begin(3, sharp_settings("50"));
  Team other(*ranks_, "two", {0, 2});
  ASSERT_TRUE(other.start());
  add_up_often(3);
  const std::uint64_t before = reduced(rank(0));
  const Kind& sum = kind("int32_sum");
  const std::vector<std::vector<std::byte>> all = {make_vector(sum, kCount, 0), make_vector(sum, kCount, 2)};
  const std::vector<std::byte> expected = ring_result(sum, all);
  ranks_->run([&](int number) {
    if (!other.has(number)) return;
    std::vector<std::byte> data = make_vector(sum, kCount, static_cast<std::size_t>(number));
    ASSERT_EQ(other.allreduce(number, make_call(sum, kCount, data.data(), data.data())), NEZHA_OK);
    ASSERT_TRUE(same_bytes(data, expected));
  });
  EXPECT_GT(reduced(rank(0)), before);
}

/// An operation of one rank's library fails, or never ends: the same call ends over the rails, and SHARP is not used again.
class Faults : public Sharp, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Faults, InACallLeaveItToTheRails) {
  const Stub stub(GetParam().first);
  begin(3, sharp_settings("60"));
  add_up_often();
  EXPECT_NE(told(rank(1)).find(GetParam().second), std::string::npos) << told(rank(1));
  EXPECT_EQ(told(rank(0)), "");
  EXPECT_TRUE(said(rank(0), "another rank lacks sums"));
  constexpr std::uint64_t kShare = 60 * 65536 / 100, kThrough = kCount * 4 * kShare / 65536 / 4 * 4;
  EXPECT_EQ(reduced(rank(0)), 2 * kThrough) << "of two calls of six";
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Values(std::pair("rank=1,error=2", "an error of the stub"),
                                         std::pair("rank=1,hang=2", "since all ranks had begun the call")));

/// The aggregator ends in a call: SHARP is left, and the sums are the same.
TEST_F(Sharp, IsLeftWhenTheAggregatorEnds) {
  begin(3, sharp_settings("60"));
  add_up_often(2);
  EXPECT_GT(reduced(rank(0)), 0U);
  std::atomic<bool> over = false;
  std::thread other([&] {
    wait_ms(10);
    aggregator_.reset();
    over = true;
  });
  while (!over) add_up("int64_sum", 1000003, true);
  other.join();
  add_up_often(2);
  const std::uint64_t before = reduced(rank(0));
  add_up_often(2);
  EXPECT_EQ(reduced(rank(0)), before);
  EXPECT_TRUE(said(rank(0), "without SHARP"));
}

/// One that stands still is waited for, and no longer.
TEST_F(Sharp, IsLeftWhenTheAggregatorStandsStill) {
  begin(3, sharp_settings("60"));
  add_up_often(2);
  const std::uint64_t before = reduced(rank(0));
  EXPECT_GT(before, 0U);
  aggregator_->halt();
  while (!said(rank(0), "without SHARP")) add_up("int64_sum", kCount, true);
  EXPECT_NE(told(rank(0)).find("since all ranks had begun the call"), std::string::npos) << told(rank(0));
  aggregator_->go_on();
  add_up_often(2);
}

/// One rank gets no group: nobody has one, whatever the others' libraries wait for.
class Openings : public Sharp, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Openings, ThatFailLeaveItToTheRails) {
  const Stub stub(GetParam().first);
  begin(3, sharp_settings("60", {{"connect_timeout", "1"}}));
  add_up_often(3);
  EXPECT_NE(told(rank(1)).find(GetParam().second), std::string::npos) << told(rank(1));
  for (int number = 0; number < 3; ++number) {
    EXPECT_FALSE(said(rank(number), "reduces through SHARP too"));
    EXPECT_TRUE(said(rank(number), "without SHARP"));
    EXPECT_EQ(reduced(rank(number)), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Openings,
                         testing::Values(std::pair("rank=1,init=error", "sharp_coll_init: an error of the stub (-8)"),
                                         std::pair("rank=1,init=hang", "coll_nezha_connect_timeout = 1 s"),
                                         std::pair("rank=1,comm=error", "sharp_coll_comm_init"),
                                         std::pair("rank=1,comm=error,finalize=hang", "sharp_coll_comm_init")));

TEST_F(Sharp, IsNotOpenedWithoutAThread) {
  alone_ = 1;
  begin(3, sharp_settings("60"));
  add_up_often(3);
  EXPECT_NE(told(rank(1)).find("the system refuses a thread"), std::string::npos) << told(rank(1));
  for (int number = 0; number < 3; ++number) EXPECT_EQ(reduced(rank(number)), 0U);
}

TEST_F(Sharp, IsLeftWithoutAThread) {
  const Stub stub("rank=1,error=2");
  begin(3, sharp_settings("60"));
  add_up_often(1);
  const std::uint64_t before = reduced(rank(0));
  EXPECT_GT(before, 0U);
  alone_ = 1;
  add_up_often(4);
  EXPECT_TRUE(said(rank(0), "another rank lacks sums"));
}

TEST_F(Sharp, CarriesOnlyWhatAllLibrariesHave) {
  const Stub stub("rank=1,float=no");
  begin(2, sharp_settings("60"));
  add_up("int32_sum", kCount, false);
  const std::uint64_t before = reduced(rank(0));
  EXPECT_GT(before, 0U);
  add_up("float_max", kCount, false);
  add_up("int32_prod", kCount, false);
  EXPECT_EQ(reduced(rank(0)), before);
  add_up("int64_sum", kCount, true);
  EXPECT_GT(reduced(rank(0)), before);
}

TEST_F(Sharp, IsNotUsedWhereARankLacksTheType) {
  begin(3, sharp_settings("60"));
  for (int call = 0; call < 3; ++call) add_up("int32_sum", kCount, false, 1);
  for (int number = 0; number < 3; ++number) EXPECT_EQ(reduced(rank(number)), 0U);
  add_up("int64_sum", kCount, false);
  EXPECT_GT(reduced(rank(0)), 0U) << "other kinds of calls use it";
}

TEST_F(Sharp, IsLeftWhereARankLacksTheTypeFromThenOn) {
  begin(3, sharp_settings("60"));
  add_up("int32_sum", kCount, false);
  const std::uint64_t before = reduced(rank(0));
  EXPECT_GT(before, 0U);
  for (int call = 0; call < 3; ++call) add_up("int32_sum", kCount, call % 2 == 0, 1);
  EXPECT_EQ(reduced(rank(0)), before);
  EXPECT_NE(told(rank(1)).find("does not have this rank's type"), std::string::npos) << told(rank(1));
}

class Unused : public Sharp, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Unused, WhereBitsArePinnedOrItIsOff) {
  begin(2, sharp_settings("60", {GetParam()}));
  add_up_often(2);
  EXPECT_EQ(reduced(rank(0)), 0U);
  EXPECT_EQ(told(rank(0)), "");
}

INSTANTIATE_TEST_SUITE_P(All, Unused,
                         testing::Values(std::pair("reproducible", "1"), std::pair("algorithm", "ring"), std::pair("sharp", "0"),
                                         std::pair("aggregator_share", "0")));

TEST_F(Sharp, IsLeftWhenTheAggregatorLacksMemory) {
  const std::uint16_t port = aggregator_->port();
  aggregator_.reset();
  aggregator_ = std::make_unique<Aggregator>(key_.key(), port, 1 << 20);
  begin(3, sharp_settings("60"));
  add_up_often(2);
  EXPECT_EQ(reduced(rank(0)), 0U);
  EXPECT_TRUE(said(rank(0), "without SHARP"));
  aggregator_->finish();
  EXPECT_EQ(aggregator_->service().counts().operations, 0U);
  EXPECT_EQ(aggregator_->service().counts().given_up, 1U);
}

TEST_F(Sharp, IsNotUsedWithoutAnAggregator) {
  aggregator_.reset();
  begin(2, sharp_settings("60"));
  add_up_often(2);
  EXPECT_EQ(reduced(rank(0)), 0U);
  EXPECT_NE(told(rank(0)).find("not all ranks reach the same aggregation service"), std::string::npos) << told(rank(0));
}

TEST_F(Sharp, ALibraryThatIsNotThereIsTold) {
  begin(2, sharp_settings("60", {{"sharp_library", "/nowhere/libsharp_coll.so.5"}}));
  add_up_often(2);
  EXPECT_NE(told(rank(0)).find("cannot be opened: /nowhere/libsharp_coll.so.5"), std::string::npos) << told(rank(0));
}

}  // namespace
}  // namespace nezha::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (nezha::test::refused) return EAGAIN;
  static const auto system = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return system(thread, attributes, run, argument);
}
