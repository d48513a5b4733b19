// SPDX-License-Identifier: BSD-3-Clause
/// How many descriptors this process has open, for tests of what is left behind.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace nezha::test {

inline std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

}  // namespace nezha::test
