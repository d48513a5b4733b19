// SPDX-License-Identifier: BSD-3-Clause
/// What members need to get a segment, for tests of components/node.
#pragma once

#include <chrono>

#include "node/segment.h"

namespace nezha::test {

/// What member 0 and another one share.
inline Secret node_secret(std::uint32_t member) {
  Secret secret{};
  secret[0] = static_cast<std::uint8_t>(member);
  secret[31] = 77;
  return secret;
}

inline bool find_node_secret(std::uint32_t member, Secret& secret) {
  secret = node_secret(member);
  return true;
}

inline Nanoseconds real_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline SegmentSpec segment_spec(std::uint32_t members, std::uint32_t self, Nanoseconds deadline = 60 * kSecond) {
  return {.team = 4711, .members = members, .self = self, .chunk = 16 * 1024, .deadline = deadline};
}

}  // namespace nezha::test
