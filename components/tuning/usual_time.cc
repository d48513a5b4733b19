// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/usual_time.h"

#include <algorithm>
#include <utility>

namespace nezha {
namespace {

constexpr std::uint64_t kGroup = 8;
constexpr double kDrift = 1.3;

}  // namespace

void UsualTime::took(std::uint64_t duration) {
  group_ = std::min(group_, duration);
  if (++grouped_ < kGroup) return;
  full_ = group_;
  group_ = kUnknown;
  grouped_ = 0;
}

std::uint64_t UsualTime::take() { return std::exchange(full_, kUnknown); }

bool UsualTime::risen(std::uint64_t agreed, std::uint64_t expected) {
  const std::uint64_t before = usual_ == kUnknown ? expected : usual_;
  const double change = static_cast<double>(agreed) / static_cast<double>(std::max<std::uint64_t>(before, 1));
  if (before != kUnknown && change >= kDrift) return true;
  if (usual_ == kUnknown || change < 1 / kDrift) usual_ = agreed;
  return false;
}

void UsualTime::interrupt() {
  full_ = group_ = kUnknown;
  grouped_ = 0;
}

}  // namespace nezha
