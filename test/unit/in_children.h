// SPDX-License-Identifier: BSD-3-Clause
/// Whether memory is what a NIC needs: whole pages that no child of fork() has.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace nezha::test {

inline bool begins_a_page(std::span<const std::byte> memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data()) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)) == 0;
}

/// Any page of it, which begins one.
inline bool children_have(std::span<const std::byte> memory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const pid_t child = fork();
  if (child == 0) {
    bool any = false;
    unsigned char resident = 0;
    for (std::size_t at = 0; at < memory.size(); at += page)
      any = any || mincore(const_cast<std::byte*>(memory.data()) + at, 1, &resident) == 0;
    _exit(any ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) != 0;
}

}  // namespace nezha::test
