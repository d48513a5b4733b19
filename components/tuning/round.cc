// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/round.h"

#include <algorithm>

namespace nezha {

void Round::clear() {
  durations_.fill(kUnknown);
  end();
}

void Round::add(std::size_t candidate, Call call) {
  trial_[trials_++] = {static_cast<std::uint8_t>(candidate), call};
}

void Round::begin_singles(const Group& members) {
  clear();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] && trials_ == 0) add(i, Call::cold);
    if (members[i]) add(i, Call::met);
  }
}

void Round::add_burst(std::size_t candidate) {
  for (const Call call : kBurst) add(candidate, call);
}

void Round::begin_bursts(const Group& members, std::size_t last, bool opens) {
  clear();
  if (opens) add(last, Call::cold);
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] && i != last) add_burst(i);
  if (members[last]) add_burst(last);
}

void Round::begin_confirmation(std::size_t candidate, std::size_t cold, std::size_t timed, bool meets) {
  clear();
  for (std::size_t i = 0; i < cold + timed; ++i) add(candidate, i < cold ? Call::cold : meets ? Call::met : Call::timed);
}

void Round::took(std::uint64_t duration) {
  if (trial_[at_ - 1].call != Call::cold) durations_[at_ - 1] = duration;
}

std::uint64_t Round::median(std::span<const std::uint64_t, kMostTrials> durations, std::size_t candidate) const {
  std::array<std::uint64_t, kMostTrials> own;
  std::size_t count = 0;
  for (std::size_t i = 0; i < trials_; ++i)
    if (trial_[i].candidate == candidate && durations[i] != kUnknown) own[count++] = durations[i];
  if (count == 0) return kUnknown;
  std::sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
  return own[(count - 1) / 2];
}

}  // namespace nezha
