// SPDX-License-Identifier: BSD-3-Clause
/// How requests of the verbs rails are numbered, so that their completions tell whose they are, and where their bytes lie.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace nezha {

/// In the slot's number.
constexpr std::uint32_t kCopiedSlot = 1U << 31;  ///< a send whose contents went with the request (inline)
constexpr std::uint32_t kSharedSlot = 1U << 30;  ///< a receive of VerbsReceives, whose number stands for the pair's

constexpr std::uint64_t verbs_request(std::uint32_t number, std::uint32_t slot) {
  return static_cast<std::uint64_t>(number) << 32 | slot;
}
constexpr std::uint32_t number_of(std::uint64_t request) { return static_cast<std::uint32_t>(request >> 32); }
constexpr std::uint32_t slot_of(std::uint64_t request) { return static_cast<std::uint32_t>(request); }

inline ibv_sge verbs_sge(std::span<const std::byte> bytes, const ibv_mr& memory) {
  return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), memory.lkey};
}

}  // namespace nezha
