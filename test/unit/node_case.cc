// SPDX-License-Identifier: BSD-3-Clause
#include "node_case.h"

#include <algorithm>
#include <cstring>

#include "reduce/reduce.h"

namespace nezha::test {

std::vector<std::byte> node_input(const NodeCase& wanted, std::uint32_t member) {
  std::uint64_t state = wanted.seed * 31 + member + 1;
  const auto random = [&state] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::uint32_t>(state >> 33);
  };
  std::vector<std::byte> bytes(wanted.bytes());
  if (wanted.type == NEZHA_FLOAT) {
    for (std::size_t i = 0; i < wanted.count; ++i) {
      const float value = static_cast<float>(random() % 20001) / 7.0F - 1000.0F;
      std::memcpy(&bytes[i * 4], &value, 4);
    }
  } else {
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
      const std::uint32_t value = random();
      std::memcpy(&bytes[at], &value, std::min<std::size_t>(3, bytes.size() - at));
    }
  }
  return bytes;
}

Reducer node_reducer(const NodeCase& wanted) {
  Reducer reducer;
  reducer.kernel = find_kernel(wanted.type, wanted.op);
  reducer.element = wanted.element;
  return reducer;
}

std::vector<std::byte> node_expected(const NodeCase& wanted, std::uint32_t members) {
  if (wanted.from != kEveryMember) return node_input(wanted, wanted.from);
  std::vector<std::byte> sum = node_input(wanted, members - 1);
  const Reducer reducer = node_reducer(wanted);
  for (std::uint32_t member = members - 1; member-- > 0;) {
    const std::vector<std::byte> value = node_input(wanted, member);
    reducer.fold(value.data(), sum.data(), sum.data(), sum.size(), 0);
  }
  if (!wanted.carriers.empty()) {
    for (std::byte& byte : sum) byte = node_changed(byte);
  }
  return sum;
}

}  // namespace nezha::test
