// SPDX-License-Identifier: BSD-3-Clause
/// Memory of the application's that a device may read, with a libibverbs that only counts.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <set>

#include "rail/verbs/verbs_regions.h"
#include "util/unmapped.h"

namespace nezha::test {
namespace {

constexpr std::size_t kPage = 4096;

/// What is registered, by address; static because libibverbs' functions have no place for it.
struct Registered {
  std::size_t of(const ibv_mr& memory) const { return there.count(memory.addr); }
  std::multiset<void*> there;
  int made = 0;
  bool refuses = false;
} registered;

class Regions : public testing::Test {
 protected:
  Regions() {
    hear_of_unmapping(true);
    registered = {};
    verbs.fork_hides_nothing = true;
    verbs.reg_mr = [](ibv_pd*, void* from, std::size_t size, int access) -> ibv_mr* {
      EXPECT_EQ(access, 0) << "a NIC only reads it";
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from) % kPage + size % kPage, 0U);
      if (registered.refuses) return nullptr;
      ++registered.made;
      registered.there.insert(from);
      auto* memory = new ibv_mr{};
      memory->addr = from;
      memory->length = size;
      return memory;
    };
    verbs.dereg_mr = [](ibv_mr* memory) {
      registered.there.erase(registered.there.find(memory->addr));
      return delete memory, 0;
    };
  }
  std::shared_ptr<ibv_mr> find(std::size_t at, std::size_t size, std::size_t reach) {
    return regions.find(nullptr, {vector + at, size}, reach);
  }
  static void expect_covers(const ibv_mr& memory, const std::byte* from, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(memory.addr);
    EXPECT_LE(begin, from);
    EXPECT_GE(begin + memory.length, from + size);
  }

  VerbsLibrary verbs;
  VerbsRegions regions{verbs, 64 * kPage};
  static inline std::byte* const vector = [] {
    void* const memory = mmap(nullptr, 32 * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? static_cast<std::byte*>(memory) : nullptr;
  }();
};

TEST_F(Regions, AreRegisteredOnceForAllThatIsInUse) {
  const auto first = find(100, 1000, 5 * kPage);
  ASSERT_NE(first, nullptr);
  expect_covers(*first, vector + 100, 5 * kPage);
  EXPECT_LE(first->length, 6 * kPage) << "nothing that others may give back";
  EXPECT_EQ(find(3 * kPage, kPage, 100 + 2 * kPage), first);
  EXPECT_EQ(find(100, 5 * kPage, 5 * kPage), first);
  EXPECT_EQ(registered.made, 1);
  EXPECT_NE(find(10 * kPage, kPage, kPage), first);
}

TEST_F(Regions, ALongerRowFromTheSamePageTakesItsPlace) {
  const auto first = find(kPage, kPage, kPage), longer = find(kPage, 3 * kPage, 3 * kPage);
  expect_covers(*longer, vector + kPage, 3 * kPage);
  EXPECT_EQ(find(kPage, kPage, kPage), longer);
}

TEST_F(Regions, RowsThatMeetWithinAPageAreBothKept) {
  const std::size_t row = 4 * kPage;
  for (int pass = 0; pass < 3; ++pass)
    for (std::size_t i = 0; i < 5; ++i) expect_covers(*find(16 + i * row, row - kPage, row), vector + 16 + i * row, row - kPage);
  EXPECT_EQ(registered.made, 5);
}

TEST_F(Regions, ARowBeyondWhatIsAllowedIsCopied) {
  const auto kept = find(0, kPage, kPage);
  EXPECT_EQ(find(kPage, kPage, 65 * kPage), nullptr);
  EXPECT_EQ(find(0, kPage, kPage), kept);
}

TEST_F(Regions, WhatIsGivenBackIsForgottenAndStaysRegisteredWhileItIsOnItsWay) {
  auto on_its_way = find(0, kPage, 4 * kPage);
  find(8 * kPage, kPage, kPage);
  note_unmapped(vector + 3 * kPage, kPage);
  EXPECT_EQ(find(8 * kPage, kPage, kPage)->addr, vector + 8 * kPage);
  EXPECT_EQ(registered.made, 2) << "another is still known";
  EXPECT_EQ(registered.of(*on_its_way), 1U);
  EXPECT_NE(find(0, kPage, 4 * kPage), on_its_way);
  EXPECT_EQ(registered.there.size(), 3U);
  on_its_way.reset();
  EXPECT_EQ(registered.there.size(), 2U);
}

TEST_F(Regions, NeighboursOfWhatIsGivenBackStay) {
  const auto below = find(0, kPage, kPage), above = find(2 * kPage, kPage, kPage);
  note_unmapped(vector + kPage, kPage);
  EXPECT_EQ(find(0, kPage, kPage), below);
  EXPECT_EQ(find(2 * kPage, kPage, kPage), above);
}

TEST_F(Regions, WhatCannotBeRegisteredIsNotTriedForEachMessage) {
  registered.refuses = true;
  EXPECT_EQ(find(0, kPage, kPage), nullptr);
  registered.refuses = false;
  EXPECT_EQ(find(0, kPage, kPage), nullptr);
  note_unmapped(vector, 1);
  EXPECT_NE(find(0, kPage, kPage), nullptr) << "it may be other memory";
}

TEST_F(Regions, AreNoMoreThanIsAllowed) {
  for (std::size_t i = 0; i < 32; ++i) find(i * kPage, kPage, kPage);
  for (std::size_t i = 0; i < 32; i += 2) find(i * kPage, 2 * kPage, 2 * kPage);
  EXPECT_LE(registered.there.size(), 64U);
  const auto kept = find(0, kPage, kPage);
  EXPECT_TRUE(regions.clear());
  EXPECT_EQ(registered.there.size(), 1U) << "on its way";
  EXPECT_FALSE(regions.clear());
}

TEST_F(Regions, TheHeapIsCopied) {
  const auto* const grown = static_cast<const std::byte*>(sbrk(4 * kPage));  // a sanitizer's malloc has no heap there
  EXPECT_EQ(regions.find(nullptr, {grown + kPage, kPage}, kPage), nullptr);
  EXPECT_EQ(registered.made, 0);
  EXPECT_NE(find(0, kPage, kPage), nullptr);
}

TEST_F(Regions, AreOfNoUseWhereForkWouldHidePages) {
  EXPECT_TRUE(regions.usable());
  hear_of_unmapping(false);
  EXPECT_FALSE(regions.usable());
  hear_of_unmapping(true);
  verbs.fork_hides_nothing = false;
  EXPECT_FALSE(regions.usable());
}

}  // namespace
}  // namespace nezha::test
