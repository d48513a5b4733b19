// SPDX-License-Identifier: BSD-3-Clause
/// What the two ends of a pair over endpoints without connections (FI_EP_RDM) say besides the pair's messages, and the tags by
/// which messages find their pair. Numbers are little endian:
///   call    to kCallTag             magic "NZRC", version u8, length of the address u8, 2 zeros, number u64, address
///   answer  first of the one side   magic "NZRA", version u8, 3 zeros, number u64
///   close   last of either side     nothing
/// A pair's number is random, chosen by its own end and said to the other one in a call or an answer; it is the tag of what that
/// sends. The address is that of the caller's rail, in the provider's format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rail/rail_address.h"
#include "util/status.h"

namespace nezha {

constexpr int kTagBits = 41;  ///< the least that a provider must have
constexpr std::uint64_t kMostNumber = (1ULL << 40) - 1;
constexpr std::uint64_t kCallTag = 1ULL << 40;

constexpr std::size_t kRdmAnswer = 16;
constexpr std::size_t kMostRdmCall = kRdmAnswer + kMaxRailPlace;
using RdmWords = std::array<std::byte, kMostRdmCall>;

struct RdmCall {
  std::uint64_t number = 0;
  std::span<const std::byte> address;
};

/// The bytes written. The address is at most kMaxRailPlace bytes long.
std::size_t write_rdm_call(RdmWords& to, const RdmCall& call);
std::size_t write_rdm_answer(RdmWords& to, std::uint64_t number);
/// From untrusted bytes, into which the address points: it has still to fit the provider.
Status read_rdm_call(std::span<const std::byte> message, RdmCall& call);
/// From untrusted bytes.
Status read_rdm_answer(std::span<const std::byte> message, std::uint64_t& number);

/// A random number of a pair, not 0.
Status random_number(std::uint64_t& number);

}  // namespace nezha
