// SPDX-License-Identifier: BSD-3-Clause
/// How long an aggregation service sleeps.
#include "engine/aggregation/service_rest.h"

#include <gtest/gtest.h>

namespace nezha::test {
namespace {

constexpr Nanoseconds kNow = 50 * kMillisecond, kLate = 300 * kMicrosecond, kStepped = kNow - kLate;

TEST(ServiceRest, NothingIsDue) {
  EXPECT_EQ((ServiceRest{.stepped = kStepped}.span(kNow)), ServiceRest::kLongest);
  EXPECT_EQ((ServiceRest{.stepped = kStepped, .eager = true}.span(kNow)), ServiceRest::kStepEvery);
}

TEST(ServiceRest, UntilSomethingIsDue) {
  EXPECT_EQ((ServiceRest{.stepped = kStepped, .due = kNow + 7 * kMillisecond}.span(kNow)), 7 * kMillisecond);
  EXPECT_EQ((ServiceRest{.stepped = kStepped, .due = kNow + kSecond}.span(kNow)), ServiceRest::kLongest);
}

/// Else it would look again and again until the next step.
TEST(ServiceRest, WhatIsOverdueWaitsForTheNextStep) {
  for (const bool eager : {false, true})
    EXPECT_EQ((ServiceRest{.stepped = kStepped, .due = kNow - kMicrosecond, .eager = eager}.span(kNow)),
              ServiceRest::kStepEvery - kLate);
}

TEST(ServiceRest, NotAtAllWhereAStepIsOverdueToo) {
  EXPECT_EQ((ServiceRest{.stepped = kNow - 2 * ServiceRest::kStepEvery, .due = kNow - kMicrosecond}.span(kNow)), 0);
}

}  // namespace
}  // namespace nezha::test
