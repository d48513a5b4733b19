// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace nezha::test {

/// How often this process's service threads have gone to sleep until now.
inline long naps_of_service() {
  long naps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "nezha-service") continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (long times = 0; word == "voluntary_ctxt_switches:" && status >> times) naps += times;
  }
  return naps;
}

}  // namespace nezha::test
