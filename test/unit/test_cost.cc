// SPDX-License-Identifier: BSD-3-Clause
// The cost model gives what test/tables/costs.txt has, as nezha plan's counts do (test/lab/test_plan_model.py).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tuning/candidate.h"
#include "tuning/cost.h"

namespace nezha {
namespace {

AlgorithmChoice algorithm_of(const std::string& name) {
  for (int choice = 0; choice < static_cast<int>(AlgorithmChoice::incumbent); ++choice)
    if (name == name_of(static_cast<AlgorithmChoice>(choice))) return static_cast<AlgorithmChoice>(choice);
  return AlgorithmChoice::incumbent;
}

TEST(Cost, IsThatOfThePlan) {
  std::ifstream file(NEZHA_TEST_TABLES "/costs.txt");
  ASSERT_TRUE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name;
    int ranks = 0;
    std::size_t bytes = 0;
    double nanoseconds = 0;
    ASSERT_TRUE(words >> name >> ranks >> bytes >> nanoseconds) << line;
    EXPECT_NEAR(cost(algorithm_of(name), bytes, ranks, 1.0), nanoseconds, 0.01) << line;
    ++rows;
  }
  EXPECT_GT(rows, 50);
}

}  // namespace
}  // namespace nezha
