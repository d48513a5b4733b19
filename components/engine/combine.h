// SPDX-License-Identifier: BSD-3-Clause
/// What the members of a team tell one another by an operation of the team.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alg/call.h"

namespace nezha {

/// Combines words over the members, in place.
inline Call combine(std::span<std::uint64_t> words, nezha_op_t op) {
  Call call;
  call.recv = reinterpret_cast<std::byte*>(words.data());
  call.send = call.recv;
  call.count = words.size();
  call.element = sizeof(std::uint64_t);
  call.chunk = call.bytes();
  call.reducer = {find_kernel(NEZHA_UINT64, op), nullptr, nullptr, nullptr, call.element};
  return call;
}

}  // namespace nezha
