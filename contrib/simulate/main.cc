// SPDX-License-Identifier: BSD-3-Clause
/// The simulator behind `nezha simulate`.
///
///   nezha_simulate run [jobs=N] [inter=PERCENT,...] [loads=PERCENT,...] [NAME=VALUE...]   for each of both; names:
///   setting.h nezha_simulate papers [jobs=N] [long]                             SAURON's published figures beside ours
///
/// An answer is a line per fact, its fields between tabs, the kind of fact first: progress, result, took, figure or
/// remark. Exit status 2: wrong arguments, and why on standard error.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.h"
#include "figures.h"
#include "setting.h"
#include "sweep.h"
#include "traffic.h"

namespace {

using nezha_simulate::Figure;
using nezha_simulate::Measured;
using nezha_simulate::Setting;

constexpr int kWrong = 2, kUnable = 3;
/// Of some traffic, each of which takes some 100 bytes of memory.
constexpr long long kMostPackets = 1 << 24;

int wrong(const std::string& why) {
  std::fprintf(stderr, "nezha_simulate: %s\n", why.c_str());
  return kWrong;
}

void tell(double part) {
  std::printf("progress\t%.4f\n", part);
  std::fflush(stdout);
}

/// What a command line asks for beside the setting's own fields.
struct Wanted {
  Setting setting;
  std::vector<std::string> inter = {"20"};
  std::vector<std::string> loads = {"10", "20", "30", "40", "50", "60", "70", "80", "90", "100"};
  int jobs = 1;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::stringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

/// Empty, or what is wrong with an argument.
std::string take(Wanted& wanted, const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) return "'" + argument + "': NAME=VALUE is allowed";
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  if (name == "loads" || name == "inter") {
    std::vector<std::string>& list = name == "loads" ? wanted.loads : wanted.inter;
    list = words_of(value);
    return list.empty() ? name + " '': percentages between commas are allowed" : "";
  }
  if (name != "jobs") return set(wanted.setting, name, value);
  wanted.jobs = std::atoi(value.c_str());
  return wanted.jobs >= 1 && wanted.jobs <= 1024 ? "" : "jobs '" + value + "': 1 to 1024 is allowed";
}

void print(const Setting& setting, const Measured& found) {
  std::printf("result\t%g\t%g\t%.6g\t%.6g\t%.6g\t%lld\t%lld\t%.6g\t%.6g", setting.inter_percent, setting.load_percent,
              found.gbps(), found.intra_gbps(), found.inter_gbps(), static_cast<long long>(found.intra_messages),
              static_cast<long long>(found.inter_messages), found.intra_latency_us, found.longest_us);
  for (const double part : found.inter_parts_us) std::printf("\t%.6g", part);
  std::printf("\n");
}

int run(std::span<char*> arguments) {
  Wanted wanted;
  for (const char* argument : arguments)
    if (const std::string why = take(wanted, argument); !why.empty()) return wrong(why);
  if (const std::string why = complaint(wanted.setting); !why.empty()) return wrong(why);
  std::vector<Setting> settings;
  for (const std::string& inter : wanted.inter) {
    if (const std::string why = set(wanted.setting, "inter_percent", inter); !why.empty()) return wrong(why);
    for (const std::string& load : wanted.loads) {
      if (const std::string why = set(wanted.setting, "load_percent", load); !why.empty()) return wrong(why);
      settings.push_back(wanted.setting);
    }
  }
  const std::vector<Measured> found = nezha_simulate::sweep(settings, wanted.jobs, tell);
  for (std::size_t number = 0; number < settings.size(); ++number) print(settings[number], found[number]);
  return EXIT_SUCCESS;
}

int traffic(std::span<char*> arguments) {
  Wanted wanted;
  if (arguments.empty()) return wrong("traffic: a file is needed");
  for (const char* argument : arguments.subspan(1))
    if (const std::string why = take(wanted, argument); !why.empty()) return wrong(why);
  const std::string name = arguments[0];
  std::ifstream file(name);
  if (!file) return wrong(name + " cannot be read: " + std::strerror(errno));
  nezha_simulate::Traffic traffic;
  if (const std::string why = traffic.read(file); !why.empty()) return wrong(name + ": " + why);
  const Setting& setting = wanted.setting;
  if (const std::string why = complaint(setting); !why.empty()) return wrong(why);
  if (traffic.ranks > setting.nodes * setting.accelerators)
    return wrong(name + " has " + std::to_string(traffic.ranks) + " ranks: nodes x accelerators are " +
                 std::to_string(setting.nodes * setting.accelerators));
  long long bytes = 0, packets = 0;
  for (const auto& message : traffic.messages) {
    bytes += message.bytes;
    packets += (message.bytes + setting.inter_payload - 1) / setting.inter_payload;
  }
  if (packets > kMostPackets)
    return wrong(name + " has " + std::to_string(packets) + " packets: " + std::to_string(kMostPackets) +
                 " are allowed; inter_payload is what one of them carries");
  nezha_simulate::Cluster cluster(setting, traffic);
  const nezha_simulate::Time time = cluster.replay();
  std::printf("took\t%d\t%zu\t%lld\t%.6g\n", traffic.ranks, traffic.messages.size(), bytes,
              static_cast<double>(time) / nezha_simulate::kMicrosecond);
  return EXIT_SUCCESS;
}

void print(const std::vector<Figure>& figures) {
  for (const Figure& figure : figures)
    std::printf("figure\t%s\t%.6g\t%.6g\t%s\t%d\t%s\n", figure.what.c_str(), figure.paper, figure.ours,
                figure.allowed.c_str(), figure.holds(), figure.outside.c_str());
}

int papers(std::span<char*> arguments) {
  Wanted wanted;
  bool all = false;
  for (const char* argument : arguments) {
    if (std::strcmp(argument, "long") == 0) {
      all = true;
    } else if (std::strncmp(argument, "jobs=", 5) != 0) {
      return wrong(std::string("'") + argument + "': jobs=N and long are allowed");
    } else if (const std::string why = take(wanted, argument); !why.empty()) {
      return wrong(why);
    }
  }
  print(nezha_simulate::model_figures());
  print(nezha_simulate::cluster_figures(wanted.jobs, tell));
  if (all) print(nezha_simulate::large_cluster_figures(wanted.jobs, tell));
  for (const std::string& remark : nezha_simulate::kRemarks) std::printf("remark\t%s\n", remark.c_str());
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words) try {
  const std::span arguments(words + 1, static_cast<std::size_t>(count > 0 ? count - 1 : 0));
  const std::string_view verb = arguments.empty() ? "" : arguments[0];
  if (verb == "run") return run(arguments.subspan(1));
  if (verb == "traffic") return traffic(arguments.subspan(1));
  if (verb == "papers") return papers(arguments.subspan(1));
  return wrong("'" + std::string(verb) + "': run, traffic and papers are allowed");
} catch (const std::exception& error) {
  std::fprintf(stderr, "nezha_simulate: %s\n", error.what());
  return kUnable;
}
