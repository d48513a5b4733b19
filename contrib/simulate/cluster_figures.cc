// SPDX-License-Identifier: BSD-3-Clause
/// The figures of sections 3.5, 4.4 and 4.5, each from simulations of its own cluster.
#include <array>
#include <limits>
#include <utility>

#include "figures.h"
#include "setting.h"
#include "sweep.h"

namespace nezha_simulate {
namespace {

using Progress = std::function<void(double)>;

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr double kInterPercent[] = {20, 15, 10, 5, 0};  // C1 to C5
constexpr int kPatterns = 5, kConfigurations = 3, kAmounts = 4;
constexpr double kRates[kConfigurations] = {128, 256, 512};
constexpr int kAccelerators[kAmounts] = {1, 2, 4, 8};
constexpr int kWholeMessage = 32;

/// Pattern from 0 on, configuration from 0 on.
Setting setting_of(int configuration, int accelerators, int pattern) {
  Setting setting;
  setting.accelerators = accelerators;
  setting.accelerator_gbps = kRates[configuration];
  setting.inter_percent = kInterPercent[pattern];
  setting.train = kWholeMessage;
  return setting;
}

/// Long enough for all buffers on the way of a saturated NIC to be full before anything is counted.
Setting settled(Setting setting) {
  setting.warm_up = 400 * kMicrosecond;
  setting.measured = 200 * kMicrosecond;
  return setting;
}

Setting with_whole_packets(Setting setting) {
  setting.intra_payload = setting.inter_payload;
  setting.intra_header = setting.inter_header;
  return setting;
}

Setting by_age(Setting setting) {
  setting.arbiter = Arbiter::age;
  return setting;
}

Setting with_matching(Setting setting) {
  setting.matched = true;
  return setting;
}

double most_gbps(const Setting& setting) { return setting.nodes * setting.accelerators * setting.accelerator_gbps; }

double percent_of_most(const Setting& setting, const Measured& found) {
  return 100 * found.gbps() / most_gbps(setting);
}

/// What is generated for other nodes does not get there, or nothing is and the node's own traffic does not.
bool saturates(const Setting& setting, const Measured& found) {
  constexpr double kUnhindered = 0.95;
  if (setting.inter_percent == 0) return found.gbps() < kUnhindered * most_gbps(setting);
  return found.inter_gbps() < kUnhindered * most_gbps(setting) * setting.inter_percent / 100;
}

/// By configuration and number of accelerators: how many patterns from C1 on saturate according to the paper.
constexpr int kSaturated[kConfigurations][kAmounts] = {{0, 0, 0, 2}, {0, 0, 2, 3}, {0, 2, 3, 4}};

struct Matrix {
  std::vector<Setting> settings;
  std::vector<std::pair<int, bool>> expected;  ///< configuration, saturates

  Matrix() {
    for (int configuration = 0; configuration < kConfigurations; ++configuration) {
      for (int amount = 0; amount < kAmounts; ++amount) {
        for (int pattern = 0; pattern < kPatterns; ++pattern) {
          if (kAccelerators[amount] == 1 && kInterPercent[pattern] == 0) continue;  // nothing is sent
          Setting setting = setting_of(configuration, kAccelerators[amount], pattern);
          setting.warm_up = 40 * kMicrosecond;
          setting.measured = 60 * kMicrosecond;
          settings.push_back(setting);
          expected.emplace_back(configuration, pattern < kSaturated[configuration][amount]);
        }
      }
    }
  }

  void add(std::vector<Figure>& figures, const Measured* found) const {
    std::array<int, kConfigurations> cases{}, alike{};
    for (std::size_t number = 0; number < settings.size(); ++number) {
      const auto [configuration, saturated] = expected[number];
      ++cases[static_cast<std::size_t>(configuration)];
      alike[static_cast<std::size_t>(configuration)] += saturates(settings[number], found[number]) == saturated;
    }
    for (int configuration = 0; configuration < kConfigurations; ++configuration) {
      const double all = cases[static_cast<std::size_t>(configuration)];
      figures.push_back(
          between("configuration " + std::to_string(configuration + 1) + ": cases that saturate, or not, as there", all,
                  alike[static_cast<std::size_t>(configuration)], all, all));
    }
  }
};

void add_knees(std::vector<Figure>& figures, const std::vector<Setting>& settings, const std::vector<Measured>& found) {
  const auto knee = [&](std::size_t number) { return percent_of_most(settings[number], found[number]); };
  figures.push_back(between("knee of C4, 8 x 512 Gbit/s, 148-byte packets, % of 131072 Gbit/s", 70, knee(0), 60, 75));
  figures.push_back(within("the same with 4096-byte packets, Gbit/s", 126000, found[1].gbps(), 5));
  figures.push_back(between("knee of C1, 8 accelerators, configuration 1, %", 60, knee(2), 50, 70));
  figures.push_back(between("knee of C1, 8 accelerators, configuration 2, %", 30, knee(3), 20, 40));
  figures.push_back(between("knee of C1, 8 accelerators, configuration 3, %", 10, knee(4), 0, 20));
  figures.push_back(only_shown("latency of C4 at full load, 148-byte packets, us", 58, found[0].inter_latency_us()));
  figures.push_back(only_shown("latency of C4 at full load, 4096-byte packets, us", 3.7, found[1].inter_latency_us()));
  figures.push_back(between("how many times the first is the second", 58 / 3.7,
                            found[0].inter_latency_us() / found[1].inter_latency_us(), 8, kNoEnd));
  figures.push_back(
      only_shown("throughput of C4 at full load, 4096-byte packets, outputs matched, Gbit/s", 126000, found[6].gbps()));
  figures.push_back(only_shown("latency of the same, us", 3.7, found[6].inter_latency_us()));
  figures.push_back(between("throughput of C1, configuration 3, arbiter by age, of round robin's", 1,
                            found[5].gbps() / found[4].gbps(), 0.98, 1.02));
  figures.push_back(between("latency of the same, of round robin's", 1.2,
                            found[5].inter_latency_us() / found[4].inter_latency_us(), 1.1, 1.3));
  figures.back().outside =
      "by Little's law a mean latency is what lies in buffers over the throughput, and all buffers are full with either "
      "arbiter. C1 and C2, configurations 1 to 3, matched outputs, buffers that still fill up, and ages since the "
      "message was made were tried, too: 10 % less to 3 % more";
}

void add_peaks(std::vector<Figure>& figures, const Measured* found) {
  figures.push_back(within("C1 of 1 accelerator, configuration 1, Gbit/s", 819.2, found[0].gbps(), 2));
  figures.push_back(within("peak of 2 accelerators, configuration 1, Gbit/s", 8192, found[1].gbps(), 2));
  figures.push_back(within("peak of 4 accelerators, configuration 1, Gbit/s", 16384, found[2].gbps(), 2));
  figures.push_back(within("peak of 8 accelerators, configuration 1, Gbit/s", 32768, found[3].gbps(), 2));
}

}  // namespace

std::vector<Figure> cluster_figures(int jobs, const Progress& progress) {
  const Setting c4 = settled(setting_of(2, 8, 3)), c1 = settled(setting_of(2, 8, 0));
  std::vector<Setting> settings = {c4,
                                   with_whole_packets(setting_of(2, 8, 3)),
                                   settled(setting_of(0, 8, 0)),
                                   settled(setting_of(1, 8, 0)),
                                   c1,
                                   by_age(c1),
                                   with_matching(with_whole_packets(setting_of(2, 8, 3))),
                                   setting_of(0, 1, 0),
                                   setting_of(0, 2, 4),
                                   setting_of(0, 4, 4),
                                   setting_of(0, 8, 4)};
  const std::size_t peaks = 7, cases = settings.size();
  const Matrix matrix;
  settings.insert(settings.end(), matrix.settings.begin(), matrix.settings.end());
  const std::vector<Measured> found = sweep(settings, jobs, progress);
  std::vector<Figure> figures;
  add_knees(figures, settings, found);
  add_peaks(figures, &found[peaks]);
  matrix.add(figures, &found[cases]);
  return figures;
}

std::vector<Figure> large_cluster_figures(int jobs, const Progress& progress) {
  constexpr int kNodes[] = {128, 512};
  constexpr double kPaper[] = {91980, 367921};
  std::vector<Setting> settings;
  for (const int nodes : kNodes) {
    Setting setting = settled(setting_of(2, 8, 0));
    setting.nodes = nodes;
    settings.push_back(setting);
  }
  const std::vector<Measured> found = sweep(settings, jobs, progress);
  std::vector<Figure> figures;
  for (std::size_t number = 0; number < settings.size(); ++number)
    figures.push_back(within("C1 of " + std::to_string(kNodes[number]) + " nodes, 8 x 512 Gbit/s, Gbit/s",
                             kPaper[number], found[number].gbps(), 15));
  return figures;
}

}  // namespace nezha_simulate
