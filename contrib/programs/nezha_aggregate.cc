// SPDX-License-Identifier: BSD-3-Clause
/// The aggregation service: reduces parts of vectors for jobs whose coll_nezha_aggregators name it (nezha-aggregate(1)).
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "aggregate_options.h"
#include "engine/aggregation/aggregator_key.h"
#include "notify_ready.h"

namespace {

using nezha::AggregateOptions;
using nezha::AggregatorServer;

AggregatorServer* running = nullptr;

void end(int) {
  if (running != nullptr) running->stop();
}

void reload(int) {
  if (running != nullptr) running->reload();
}

int usage(std::FILE* to, int status) {
  std::fputs(
      "usage: nezha-aggregate --key FILE [--listen [HOST:]PORT] [--rails NAME|ADDRESS/BITS,...] [--set NAME=VALUE]...\n"
      "                       [--memory SIZE] [--job-memory SIZE] [--upstream HOST:PORT] [--statistics FILE]\n"
      "                       [--verbose 0-3] [--config FILE]\n"
      "\n"
      "Reduces parts of large vectors for jobs that name it in coll_nezha_aggregators, until SIGTERM or SIGINT.\n"
      "SIGHUP: reads the key and the sizes anew.\n"
      "\n"
      "  --key FILE           the key that jobs prove to know: 32 bytes or more, mode 0600\n"
      "  --listen [HOST:]PORT where jobs find it, default: port 4757 of every address\n"
      "  --rails LIST         interfaces to use, as coll_nezha_rail_include; default: every network between nodes\n"
      "  --set NAME=VALUE     a parameter of the rails without coll_nezha_: rail_exclude, port_range, ip_version,\n"
      "                       checksum, window, single_node\n"
      "  --memory SIZE        of all operations under way, default 1g\n"
      "  --job-memory SIZE    of those of one communicator, default 256m\n"
      "  --upstream HOST:PORT another aggregator, which joins this one and those of other racks to a tree\n"
      "  --statistics FILE    written every 5 seconds, for the textfile collector of Prometheus' node_exporter\n"
      "  --verbose LEVEL      0 errors, 1 decisions (default), 2 who comes and goes, 3 more\n"
      "  --config FILE        more options, one a line: a name without dashes, and its value\n"
      "\n"
      "Exit status: 0 stopped by a signal, 1 it cannot serve, 2 wrong arguments.\n",
      to);
  return status;
}

int wrong(const std::string& what, int status) {
  std::fprintf(stderr, "nezha-aggregate: %s\n", what.c_str());
  return status;
}

void print(void*, int, const char* line) { std::fprintf(stderr, "nezha-aggregate: %s\n", line); }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

/// As many descriptors as it may have: a shell's limit of 1024 is less than the lanes of a few hundred ranks.
void take_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// The new key and limits, or, where something is wrong, none of them.
void read_anew(int argc, char** argv, AggregatorServer& server) {
  AggregateOptions options;
  nezha::Status status = read_options(argc, argv, options);
  if (status.ok()) status = read_aggregator_key(options.key, options.server.key);
  if (!status.ok()) {
    wrong("reload: " + status.text() + "; the old key and sizes hold", 0);
    return;
  }
  server.change(options.server.key, options.server.limits);
  wrong("the key and the sizes have been read anew", 0);
}

int serve(int argc, char** argv, AggregateOptions& options) {
  char node[256] = "";
  gethostname(node, sizeof node - 1);
  options.server.node = node;
  AggregatorServer server(options.server, nezha::Log(print, nullptr, options.verbose));
  nezha::Notices notices;
  const nezha::Status status = server.open(notices);
  for (const nezha::Notice& notice : notices) {
    std::string words;
    for (const std::string& word : notice.arguments) words += " " + word;
    std::fprintf(stderr, "nezha-aggregate: %s:%s\n", notice.topic.c_str(), words.c_str());
  }
  if (!status.ok()) return wrong(status.text(), 1);
  running = &server;
  handle(SIGTERM, end);
  handle(SIGINT, end);
  handle(SIGHUP, reload);
  std::string rails;
  for (const nezha::RailAddress& rail : server.core().self().rails) rails += (rails.empty() ? "" : ", ") + rail.label();
  std::printf("nezha-aggregate: ready at port %u, over %s\n", static_cast<unsigned>(server.port()), rails.c_str());
  std::fflush(stdout);
  nezha::notify_ready();
  while (server.run()) read_anew(argc, argv, server);
  running = nullptr;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  take_descriptors();
  AggregateOptions options;
  if (const nezha::Status status = read_options(argc, argv, options); !status.ok()) return wrong(status.text(), 2);
  if (options.wanted == AggregateOptions::Wanted::help) return usage(stdout, 0);
  if (options.wanted == AggregateOptions::Wanted::version) return std::puts("nezha-aggregate " NEZHA_VERSION), 0;
  if (const nezha::Status status = read_aggregator_key(options.key, options.server.key); !status.ok())
    return wrong(status.text(), 1);
  return serve(argc, argv, options);
}
