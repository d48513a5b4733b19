// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/failure.h"

namespace nezha {
namespace {

constexpr int kWhyShift = 56;

}  // namespace

void encode_failure(const Failure& failure, PieceHeader& record) {
  record.offset = std::uint64_t{failure.by} << 32 | failure.of;
  record.op = std::uint64_t{static_cast<std::uint8_t>(failure.why)} << kWhyShift | failure.expected;
  record.whole = failure.came;
}

Status decode_failure(const PieceHeader& record, Failure& failure) {
  const std::uint64_t why = record.op >> kWhyShift;
  if (why > static_cast<std::uint8_t>(Failure::Why::gone))
    return {Code::bad_wire, "bad frame: a failure of an unknown kind"};
  failure.why = static_cast<Failure::Why>(why);
  failure.by = static_cast<std::uint32_t>(record.offset >> 32);
  failure.of = static_cast<std::uint32_t>(record.offset);
  failure.expected = record.op & ((std::uint64_t{1} << kWhyShift) - 1);
  failure.came = record.whole;
  return {};
}

}  // namespace nezha
