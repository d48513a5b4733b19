// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cpu_quota.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "util/text.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Version 2 has both numbers in one file, "max" for none; version 1 a file for each, -1 for none.
double limit_of(const fs::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period && quota > 0 && period > 0) return quota / period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : kNoLimit;
}

/// A group has no more than those that it lies in. What lies above its container it may not see, nor by its full name itself.
double least_limit(const fs::path& hierarchy, const std::string& group) {
  double least = limit_of(hierarchy);
  if (group.find("..") != std::string::npos) return least;
  fs::path at = hierarchy;
  for (const fs::path& part : fs::path(group).relative_path()) least = std::min(least, limit_of(at /= part));
  return least;
}

bool names_cpu(const std::string& controllers) {
  const std::vector<std::string_view> words = words_of(controllers);
  return std::find(words.begin(), words.end(), "cpu") != words.end();
}

}  // namespace

std::size_t cpu_quota(const std::string& groups, const std::string& mounted) {
  double least = kNoLimit;
  std::ifstream file(groups);
  std::string number, controllers, group;  // of a line "4:cpu,cpuacct:/a/b"; version 2 has "0::/a/b"
  while (std::getline(file, number, ':') && std::getline(file, controllers, ':') && std::getline(file, group)) {
    if (controllers.empty())
      least = std::min({least, least_limit(mounted, group), least_limit(fs::path(mounted) / "unified", group)});
    else if (names_cpu(controllers))
      least = std::min({least, least_limit(fs::path(mounted) / controllers, group), least_limit(fs::path(mounted) / "cpu", group)});
  }
  if (least == kNoLimit) return 0;
  return static_cast<std::size_t>(std::clamp(least, 1.0, 1e6));
}

}  // namespace nezha
