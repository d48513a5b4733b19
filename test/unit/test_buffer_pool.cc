// SPDX-License-Identifier: BSD-3-Clause
/// Buffers are taken in turns, and what nobody uses goes back to the system.
#include "util/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "count_allocations.h"

namespace nezha {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

/// Whether the system has memory there.
bool mapped(const std::byte* at) {
  unsigned char resident = 0;
  return mincore(const_cast<std::byte*>(at), 1, &resident) == 0 || errno != ENOMEM;
}

/// As an operation takes a buffer, fills it and gives it back; where it was.
std::byte* use(BufferPool& pool, std::size_t size) {
  const BufferPool::Buffer buffer = pool.take(size);
  buffer.data()[0] = buffer.data()[size - 1] = std::byte{1};
  return buffer.data();
}

TEST(BufferPool, CallsAlikeAllocateNothing) {
  BufferPool pool;
  std::byte* const first = use(pool, 31 * MiB);
  use(pool, 31 * MiB);
  const std::size_t before = test::allocations(), bytes = pool.bytes();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(use(pool, 31 * MiB - static_cast<std::size_t>(i)), first);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(pool.bytes(), bytes);
  EXPECT_LT(bytes, 34 * MiB);
}

TEST(BufferPool, EachHasItsOwn) {
  BufferPool pool;
  BufferPool::Buffer one = pool.take(100), other = pool.take(100), large = pool.take(MiB);
  std::byte* const small = other.data();
  EXPECT_NE(one.data(), small);
  std::byte* const middle = large.data();
  large.give_back();
  large.give_back();
  other = BufferPool::Buffer();
  EXPECT_EQ(use(pool, 64 * KiB + 1), middle);
  EXPECT_EQ(use(pool, 64 * KiB), small) << "the smallest that is large enough";
  other = std::move(one);
  EXPECT_NE(other.data(), small);
}

TEST(BufferPool, ALargerOneTakesThePlaceOfOneThatIsTooSmall) {
  BufferPool pool;
  for (std::size_t size = 100; size <= 40 * MiB; size *= 2) use(pool, size);
  EXPECT_LT(pool.bytes(), 40 * MiB) << "one buffer";
}

TEST(BufferPool, WhatNobodyUsesGoesBackToTheSystem) {
  BufferPool pool;
  BufferPool::Buffer held = pool.take(31 * MiB);
  std::byte* const large = held.data();
  pool.release_unused();
  pool.release_unused();
  EXPECT_FALSE(pool.excess());
  EXPECT_TRUE(mapped(large)) << "somebody has it";
  held.give_back();
  EXPECT_TRUE(pool.excess());
  pool.release_unused();
  EXPECT_EQ(use(pool, 31 * MiB), large) << "it was used not long ago";
  pool.release_unused();
  EXPECT_TRUE(mapped(large));
  pool.release_unused();
  EXPECT_FALSE(mapped(large));
  EXPECT_FALSE(pool.excess());
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(BufferPool, ALittleMayStay) {
  BufferPool pool;
  std::byte* const data = use(pool, BufferPool::kMostIdle);
  EXPECT_FALSE(pool.excess());
  pool.release_unused();
  pool.release_unused();
  EXPECT_EQ(use(pool, MiB), data);
}

TEST(BufferPool, ManyAreBoundedTogether) {
  BufferPool pool;
  {
    std::vector<BufferPool::Buffer> many;
    for (int i = 0; i < 20; ++i) many.push_back(pool.take(MiB));
  }
  EXPECT_GT(pool.bytes(), 19 * MiB);
  pool.release_unused();
  pool.release_unused();
  EXPECT_LE(pool.bytes(), BufferPool::kMostIdle);
}

TEST(BufferPool, TheEndOfThePoolUnmapsAll) {
  std::byte* data = nullptr;
  {
    BufferPool pool;
    data = use(pool, MiB);
    EXPECT_TRUE(mapped(data));
  }
  EXPECT_FALSE(mapped(data));
}

}  // namespace
}  // namespace nezha
