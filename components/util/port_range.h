// SPDX-License-Identifier: BSD-3-Clause
/// The ports that listeners may take.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/status.h"

namespace nezha {

/// Both ends included; both 0: any port, as the kernel chooses.
struct PortRange {
  std::uint16_t low = 0;
  std::uint16_t high = 0;

  bool any() const { return low == 0; }

  bool operator==(const PortRange&) const = default;
};

/// "0", or "LOW-HIGH" with 1 <= LOW <= HIGH <= 65535. `range` is unchanged on an error, whose text names the bad word
/// and what is allowed.
Status parse(std::string_view text, PortRange& range);

}  // namespace nezha
