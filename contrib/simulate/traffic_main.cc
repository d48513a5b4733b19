// SPDX-License-Identifier: BSD-3-Clause
/// The traffic of one allreduce by the engine's own algorithms, for nezha_simulate traffic.
///
///   nezha_traffic ALGORITHM RANKS BYTES   algorithms: ring, mesh, single_step, doubling, halving
///
/// Exit status 2: wrong arguments, and why on standard error.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "recorder.h"
#include "tuning/candidate.h"

namespace {

constexpr int kWrong = 2, kUnable = 3;
constexpr long long kMostRanks = 128, kMostMemory = 4LL << 30;

int failed(int status, const std::string& why) {
  std::fprintf(stderr, "nezha_traffic: %s\n", why.c_str());
  return status;
}

/// -1: it is no such number.
long long number(const char* text, long long least, long long most) {
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  return end != text && *end == '\0' && value >= least && value <= most ? value : -1;
}

/// `incumbent`: it is none of ours.
nezha::AlgorithmChoice algorithm_of(const std::string& word) {
  using enum nezha::AlgorithmChoice;
  for (const auto choice : {ring, mesh, single_step, doubling, halving})
    if (word == nezha::name_of(choice)) return choice;
  return incumbent;
}

}  // namespace

int main(int count, char** words) try {
  if (count != 4) return failed(kWrong, "ALGORITHM RANKS BYTES is allowed");
  const nezha::AlgorithmChoice algorithm = algorithm_of(words[1]);
  if (algorithm == nezha::AlgorithmChoice::incumbent)
    return failed(kWrong, "'" + std::string(words[1]) + "': ring, mesh, single_step, doubling and halving are allowed");
  const long long ranks = number(words[2], 2, kMostRanks);
  if (ranks < 0)
    return failed(kWrong, "'" + std::string(words[2]) + "' ranks: 2 to " + std::to_string(kMostRanks) + " is allowed");
  const long long bytes = number(words[3], 4, kMostMemory / ranks);
  if (bytes < 0)
    return failed(kWrong, "'" + std::string(words[3]) + "' bytes: 4 to " + std::to_string(kMostMemory / ranks) +
                              " is allowed with " + words[2] + " ranks");
  if (bytes % static_cast<long long>(sizeof(float)) != 0)
    return failed(kWrong,
                  "'" + std::string(words[3]) + "' bytes: multiples of 4 are allowed, since a vector is of floats");
  nezha_simulate::Recorder recorder(static_cast<int>(ranks));
  const std::string why = recorder.record(algorithm, static_cast<std::size_t>(bytes), std::cout);
  if (!why.empty()) return failed(kUnable, why);
  if (!std::cout.flush()) return failed(kUnable, "output cannot be written");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  return failed(kUnable, error.what());
}
