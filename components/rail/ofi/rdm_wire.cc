// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/rdm_wire.h"

#include <algorithm>

#include "util/bytes.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr std::uint32_t kCallMagic = 0x4352'5a4e, kAnswerMagic = 0x4152'5a4e;  // "NZRC", "NZRA"
constexpr std::uint8_t kRdmVersion = 1;

/// What call and answer have in common.
void write_words(RdmWords& to, std::uint32_t magic, std::size_t address, std::uint64_t number) {
  to.fill(std::byte{0});
  store_le(to.data(), magic);
  to[4] = std::byte{kRdmVersion};
  to[5] = static_cast<std::byte>(address);
  store_le(&to[8], number);
}

Status read_words(std::span<const std::byte> message, std::uint32_t magic, std::uint64_t& number) {
  if (message.size() < kRdmAnswer || load_le<std::uint32_t>(message.data()) != magic)
    return {Code::bad_wire, "a greeting that is none"};
  if (message[4] != std::byte{kRdmVersion}) return {Code::bad_wire, "a greeting of another version"};
  if (message[6] != std::byte{0} || message[7] != std::byte{0}) return {Code::bad_wire, "a greeting with unknown words"};
  if (message.size() != kRdmAnswer + std::to_integer<std::size_t>(message[5]))
    return {Code::bad_wire, "a greeting of a wrong length"};
  const auto said = load_le<std::uint64_t>(&message[8]);
  if (said == 0 || said > kMostNumber) return {Code::bad_wire, "a greeting with an impossible number"};
  number = said;
  return {};
}

}  // namespace

std::size_t write_rdm_call(RdmWords& to, const RdmCall& call) {
  write_words(to, kCallMagic, call.address.size(), call.number);
  std::copy(call.address.begin(), call.address.end(), to.begin() + kRdmAnswer);
  return kRdmAnswer + call.address.size();
}

std::size_t write_rdm_answer(RdmWords& to, std::uint64_t number) {
  write_words(to, kAnswerMagic, 0, number);
  return kRdmAnswer;
}

Status read_rdm_call(std::span<const std::byte> message, RdmCall& call) {
  if (Status status = read_words(message, kCallMagic, call.number); !status.ok()) return status;
  call.address = message.subspan(kRdmAnswer);
  return {};
}

Status read_rdm_answer(std::span<const std::byte> message, std::uint64_t& number) {
  if (message.size() != kRdmAnswer) return {Code::bad_wire, "an answer of a wrong length"};
  return read_words(message, kAnswerMagic, number);
}

Status random_number(std::uint64_t& number) {
  std::uint64_t drawn = 0;
  Status status;
  while (status.ok() && (drawn & kMostNumber) == 0) status = random_id(drawn);
  if (status.ok()) number = drawn & kMostNumber;
  return status;
}

}  // namespace nezha
