// SPDX-License-Identifier: BSD-3-Clause
/// Memory that is given back, told to whoever has registered it.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "util/unmapped.h"

namespace nezha {
namespace {

using Ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;
constexpr std::pair<std::uintptr_t, std::uintptr_t> kEverything{0, std::numeric_limits<std::uintptr_t>::max()};

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

Ranges read(UnmappedReader& reader) {
  Ranges ranges;
  reader.read([&](std::uintptr_t from, std::uintptr_t to) { ranges.emplace_back(from, to); });
  return ranges;
}

TEST(Unmapped, EachReaderHearsOfEachRangeOnce) {
  note_unmapped(at(10), 5);
  UnmappedReader one, other;
  EXPECT_TRUE(read(one).empty()) << "what was before";
  note_unmapped(at(100), 20);
  note_unmapped(at(7), 1);
  const Ranges told{{100, 120}, {7, 8}};
  EXPECT_EQ(read(one), told);
  EXPECT_TRUE(read(one).empty());
  note_unmapped(at(50), 50);
  EXPECT_EQ(read(one), (Ranges{{50, 100}}));
  EXPECT_EQ(read(other).size(), 3U);
}

TEST(Unmapped, WhoHasMissedSomeTakesEverythingForGone) {
  UnmappedReader reader;
  for (std::uintptr_t i = 1; i <= 1000; ++i) note_unmapped(at(16 * i), 16);
  EXPECT_EQ(read(reader), Ranges{kEverything});
  note_unmapped(at(48), 16);
  EXPECT_EQ(read(reader), (Ranges{{48, 64}}));
}

TEST(Unmapped, NothingIsLostWhereManySayItAtOnce) {
  constexpr std::uintptr_t kEach = 20000, kThreads = 3;
  UnmappedReader reader;
  std::atomic<std::uintptr_t> running = kThreads;
  std::vector<std::thread> threads;
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uintptr_t i = 0; i < kEach; ++i) note_unmapped(at((kThreads * i + thread) * 64 + 64), 64);
      --running;
    });
  std::vector<bool> heard(kThreads * kEach);
  bool all = false, last = false;
  do {
    last = running == 0;
    reader.read([&](std::uintptr_t from, std::uintptr_t to) {
      if (from == 0) {
        all = true;
        return;
      }
      EXPECT_EQ(to, from + 64) << "of one range, the end of another";
      EXPECT_FALSE(heard[from / 64 - 1]);
      heard[from / 64 - 1] = true;
    });
  } while (!last);
  for (std::thread& thread : threads) thread.join();
  if (!all) {
    for (const bool each : heard) ASSERT_TRUE(each);
  }
}

}  // namespace
}  // namespace nezha
