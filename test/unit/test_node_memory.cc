// SPDX-License-Identifier: BSD-3-Clause
/// The memory that ranks of a node share: who can map it, what it may be, its header, and copies to and from it.
#include "node/node_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "node/copy.h"
#include "node/shared_memory.h"

namespace nezha::test {
namespace {

TEST(Copy, EveryDistanceModuloAPage) {
  std::vector<std::byte> from(6000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  std::vector<std::byte> to(6000 + 2 * kCopyPage);
  const auto source = reinterpret_cast<std::uintptr_t>(from.data());
  for (std::size_t apart = 0; apart < 70; ++apart) {
    std::byte* at = to.data() + (source + apart - reinterpret_cast<std::uintptr_t>(to.data())) % kCopyPage;
    EXPECT_EQ(copies_slowly(reinterpret_cast<std::uintptr_t>(at), source), apart >= 1 && apart <= 31) << apart;
    std::fill(to.begin(), to.end(), std::byte{0});
    copy_bytes(at, from.data(), from.size());
    ASSERT_TRUE(std::equal(from.begin(), from.end(), at)) << apart;
    EXPECT_EQ(at[from.size()], std::byte{0}) << apart;
  }
}

TEST(SharedMemory, OnlySealedMemoryOfTheRightSizeIsMapped) {
  Fd memory;
  ASSERT_TRUE(SharedMemory::make(8192, memory).ok());
  EXPECT_EQ(fcntl(memory.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_NE(ftruncate(memory.get(), 4096), 0);
  SharedMemory mapped;
  EXPECT_FALSE(mapped.map(memory, 4096).ok());
  EXPECT_TRUE(mapped.map(memory, 8192).ok());
  Fd open_ended(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open_ended.get(), 8192), 0);
  EXPECT_FALSE(SharedMemory().map(open_ended, 8192).ok());
}

/// As systems may demand it.
TEST(SharedMemory, IsNoPlaceForPrograms) {
  constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL
  constexpr int kSealExec = 0x20;      // F_SEAL_EXEC
  if (!Fd(memfd_create("test", kNoExecSeal))) GTEST_SKIP() << "this kernel knows no such memory";
  Fd memory;
  ASSERT_TRUE(SharedMemory::make(8192, memory).ok());
  EXPECT_EQ(fcntl(memory.get(), F_GET_SEALS) & kSealExec, kSealExec);
}

/// A child's end of what it has inherited unmaps nothing that it has mapped in the same place.
TEST(SharedMemory, LeavesAChildItsOwn) {
  constexpr std::size_t kSize = 8192;
  Fd memory;
  ASSERT_TRUE(SharedMemory::make(kSize, memory).ok());
  SharedMemory mapped;
  ASSERT_TRUE(mapped.map(memory, kSize).ok());
  const pid_t child = fork();
  if (child == 0) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void* const own = mmap(mapped.base(), kSize, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (own != mapped.base()) _exit(1);
    mapped = SharedMemory();
    _exit(static_cast<const char*>(own)[0]);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedMemory, IsNotMadeBeyondTheLimitOnFiles) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small{1 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    Fd memory;
    _exit(SharedMemory::make(10 << 20, memory).ok() || !SharedMemory::make(1 << 20, memory).ok());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(NodeMemory, HeaderOfAnotherLayoutIsRefused) {
  const NodeLayout layout(2, 16 * 1024);
  std::vector<std::uint64_t> words(1024);
  auto* base = reinterpret_cast<std::byte*>(words.data());
  EXPECT_FALSE(NodeMemory::check_header(layout, base).ok());
  NodeMemory::write_header(layout, base);
  EXPECT_TRUE(NodeMemory::check_header(layout, base).ok());
  EXPECT_FALSE(NodeMemory::check_header(NodeLayout(3, 16 * 1024), base).ok());
  EXPECT_FALSE(NodeMemory::check_header(NodeLayout(2, 32 * 1024), base).ok());
}

}  // namespace
}  // namespace nezha::test
