// SPDX-License-Identifier: BSD-3-Clause
/// The aggregation service: reduces parts of vectors for jobs whose coll_nezha_aggregators name it (nezha-aggregate(8)).
#include <getopt.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "engine/aggregation/aggregator_key.h"
#include "engine/aggregation/aggregator_server.h"
#include "util/text.h"

namespace {

using nezha::AggregatorServer;

constexpr std::uint16_t kPort = 4757;

AggregatorServer* running = nullptr;

void end(int) {
  if (running != nullptr) running->stop();
}

int usage(std::FILE* to, int status) {
  std::fputs(
      "usage: nezha-aggregate --key FILE [--listen [HOST:]PORT] [--rails NAME|ADDRESS/BITS,...] [--set NAME=VALUE]...\n"
      "                       [--memory SIZE] [--job-memory SIZE] [--statistics FILE] [--verbose 0-3]\n"
      "\n"
      "Reduces parts of large vectors for jobs that name it in coll_nezha_aggregators, until SIGTERM or SIGINT.\n"
      "\n"
      "  --key FILE           the key that jobs prove to know: 32 bytes or more, mode 0600\n"
      "  --listen [HOST:]PORT where jobs find it, default: port 4757 of every address\n"
      "  --rails LIST         interfaces to use, as coll_nezha_rail_include; default: every network between nodes\n"
      "  --set NAME=VALUE     a parameter of the rails without coll_nezha_: rail_exclude, port_range, ip_version,\n"
      "                       checksum, window, single_node\n"
      "  --memory SIZE        of all operations under way, default 1g\n"
      "  --job-memory SIZE    of those of one communicator, default 256m\n"
      "  --statistics FILE    written every 5 seconds, for the textfile collector of Prometheus' node_exporter\n"
      "  --verbose LEVEL      0 errors, 1 decisions (default), 2 who comes and goes, 3 more\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 it cannot serve, 2 wrong arguments.\n",
      to);
  return status;
}

int wrong(const std::string& what) {
  std::fprintf(stderr, "nezha-aggregate: %s\n", what.c_str());
  return 2;
}

void print(void*, int, const char* line) { std::fprintf(stderr, "nezha-aggregate: %s\n", line); }

/// "4757", "node7:4757", "[fd00::7]:4757"
bool read_listen(const std::string& text, AggregatorServer::Options& options) {
  const bool alone = text.find(':') == std::string::npos;
  const std::optional<long long> port = alone ? nezha::parse_integer(text) : std::nullopt;
  nezha::AggregatorList list;
  if (alone && port && *port >= 0 && *port <= 65535) {
    options.port = static_cast<std::uint16_t>(*port);
    return true;
  }
  if (alone || !nezha::parse(text, list).ok() || list.entries.size() != 1) return false;
  options.host = list.entries[0].host;
  options.port = list.entries[0].port;
  return true;
}

bool read_size(const char* text, std::uint64_t& size) {
  const std::optional<long long> bytes = nezha::parse_size(text);
  if (!bytes || *bytes < 1024 * 1024) return false;
  size = static_cast<std::uint64_t>(*bytes);
  return true;
}

/// 0: go on; else what to leave with, plus one.
int read_options(int argc, char** argv, AggregatorServer::Options& options, nezha::FilePath& key, int& verbose) {
  static const option kOptions[] = {{"key", 1, nullptr, 'k'},        {"listen", 1, nullptr, 'l'},
                                    {"rails", 1, nullptr, 'r'},      {"set", 1, nullptr, 's'},
                                    {"memory", 1, nullptr, 'm'},     {"job-memory", 1, nullptr, 'j'},
                                    {"statistics", 1, nullptr, 't'}, {"verbose", 1, nullptr, 'v'},
                                    {"help", 0, nullptr, 'h'},       {"version", 0, nullptr, 'V'},
                                    {nullptr, 0, nullptr, 0}};
  for (int letter; (letter = getopt_long(argc, argv, "h", kOptions, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    nezha::Status status;
    switch (letter) {
      case 'k':
        status = parse(value, key);
        break;
      case 'l':
        if (!read_listen(value, options)) return 1 + wrong("--listen " + value + ": [HOST:]PORT is allowed");
        break;
      case 'r':
        status = set_parameter(options.config, "rail_include", value);
        break;
      case 's': {
        const std::size_t equals = value.find('=');
        if (equals == std::string::npos) return 1 + wrong("--set " + value + ": NAME=VALUE is allowed");
        status = set_parameter(options.config, value.substr(0, equals), value.substr(equals + 1));
        break;
      }
      case 'm':
        if (!read_size(optarg, options.limits.memory)) return 1 + wrong("--memory " + value + ": bytes from 1m are allowed (k, m, g)");
        break;
      case 'j':
        if (!read_size(optarg, options.limits.star)) return 1 + wrong("--job-memory " + value + ": bytes from 1m are allowed (k, m, g)");
        break;
      case 't':
        options.statistics = value;
        break;
      case 'v':
        if (value.size() != 1 || value[0] < '0' || value[0] > '3') return 1 + wrong("--verbose " + value + ": 0 to 3 is allowed");
        verbose = value[0] - '0';
        break;
      case 'h':
        return 1 + usage(stdout, 0);
      case 'V':
        std::puts("nezha-aggregate " NEZHA_VERSION);
        return 1;
      default:
        return 1 + usage(stderr, 2);
    }
    if (!status.ok()) return 1 + wrong(status.text());
  }
  if (optind != argc) return 1 + wrong(std::string("'") + argv[optind] + "': only options are allowed");
  if (key.empty()) return 1 + wrong("--key is missing: the file with the key that jobs prove to know");
  return 0;
}

int serve(AggregatorServer::Options& options, int verbose) {
  char node[256] = "";
  gethostname(node, sizeof node - 1);
  options.node = node;
  AggregatorServer server(options, nezha::Log(print, nullptr, verbose));
  nezha::Notices notices;
  const nezha::Status status = server.open(notices);
  for (const nezha::Notice& notice : notices) {
    std::string words;
    for (const std::string& word : notice.arguments) words += " " + word;
    std::fprintf(stderr, "nezha-aggregate: %s:%s\n", notice.topic.c_str(), words.c_str());
  }
  if (!status.ok()) {
    std::fprintf(stderr, "nezha-aggregate: %s\n", status.text().c_str());
    return 1;
  }
  running = &server;
  struct sigaction action {};
  action.sa_handler = end;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::string rails;
  for (const nezha::RailAddress& rail : server.core().self().rails) rails += (rails.empty() ? "" : ", ") + rail.label();
  std::printf("nezha-aggregate: ready at port %u, over %s\n", static_cast<unsigned>(server.port()), rails.c_str());
  std::fflush(stdout);
  server.run();
  running = nullptr;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  AggregatorServer::Options options;
  options.port = kPort;
  nezha::FilePath key;
  int verbose = 1;
  if (const int left = read_options(argc, argv, options, key, verbose); left != 0) return left - 1;
  if (const nezha::Status status = read_aggregator_key(key, options.key); !status.ok()) {
    std::fprintf(stderr, "nezha-aggregate: %s\n", status.text().c_str());
    return 1;
  }
  return serve(options, verbose);
}
