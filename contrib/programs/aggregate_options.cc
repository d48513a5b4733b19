// SPDX-License-Identifier: BSD-3-Clause
#include "aggregate_options.h"

#include <getopt.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/text.h"

namespace nezha {
namespace {

constexpr std::uint16_t kPort = 4757;
constexpr std::size_t kMostConfig = 64 * 1024;
/// Other parameters mean nothing to a service, or have options of their own.
constexpr std::string_view kOfRails = "rail_exclude, port_range, ip_version, checksum, window, single_node";

struct Word {
  std::string where;  ///< before the name of the option, in errors
  std::string name, value;
};

Status bad(const Word& word, const char* allowed) {
  return {Code::bad_parameter, word.where + word.name + " " + word.value + ": " + allowed};
}

/// "4757", "node7:4757", "[fd00::7]:4757"
bool read_listen(const std::string& text, AggregatorServer::Options& options) {
  const bool alone = text.find(':') == std::string::npos;
  const std::optional<long long> port = alone ? parse_integer(text) : std::nullopt;
  AggregatorList list;
  if (alone && port && *port >= 0 && *port <= 65535) {
    options.host.clear();
    options.port = static_cast<std::uint16_t>(*port);
    return true;
  }
  if (alone || !parse(text, list).ok() || list.entries.size() != 1) return false;
  options.host = list.entries[0].host;
  options.port = list.entries[0].port;
  return true;
}

bool read_upstream(const std::string& text, Config& config) {
  AggregatorList list;
  if (!parse(text, list).ok() || list.entries.size() != 1) return false;
  config.aggregators = std::move(list);
  return true;
}

bool read_size(const std::string& text, std::uint64_t& size) {
  const std::optional<long long> bytes = parse_size(text);
  if (!bytes || *bytes < 1024 * 1024) return false;
  size = static_cast<std::uint64_t>(*bytes);
  return true;
}

Status named(const Word& word, const Status& status) {
  return status.ok() ? status : Status{Code::bad_parameter, word.where + word.name + ": " + status.text()};
}

Status set_of_rails(const Word& word, Config& config) {
  const std::size_t equals = word.value.find('=');
  if (equals == std::string::npos) return bad(word, "NAME=VALUE is allowed");
  const std::string name = word.value.substr(0, equals);
  const std::vector<std::string_view> names = words_of(kOfRails);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return bad(word, ("allowed names are " + std::string(kOfRails)).c_str());
  return named(word, set_parameter(config, name, word.value.substr(equals + 1)));
}

Status apply(const Word& word, AggregateOptions& options) {
  AggregatorServer::Options& server = options.server;
  const std::string& value = word.value;
  if (word.name == "key") return named(word, parse(value, options.key));
  if (word.name == "statistics") return server.statistics = value, Status();
  if (word.name == "rails") return named(word, set_parameter(server.config, "rail_include", value));
  if (word.name == "set") return set_of_rails(word, server.config);
  if (word.name == "listen") return read_listen(value, server) ? Status() : bad(word, "[HOST:]PORT is allowed");
  if (word.name == "upstream")
    return read_upstream(value, server.config) ? Status() : bad(word, "HOST:PORT of one other aggregator is allowed");
  if (word.name == "memory" || word.name == "job-memory") {
    std::uint64_t& size = word.name == "memory" ? server.limits.memory : server.limits.star;
    return read_size(value, size) ? Status() : bad(word, "bytes from 1m are allowed (k, m, g)");
  }
  if (word.name == "verbose") {
    if (value.size() != 1 || value[0] < '0' || value[0] > '3') return bad(word, "0 to 3 is allowed");
    return options.verbose = value[0] - '0', Status();
  }
  return bad(word, "no such option; there are key, listen, rails, set, memory, job-memory, upstream, statistics and verbose");
}

/// Lines of a name and a value; empty ones, and those that begin with #, say nothing.
Status read_config(const std::string& path, std::vector<Word>& words) {
  std::string text;
  if (const Status status = read_file({path}, kMostConfig, text); !status.ok())
    return {status.code(), "--config " + path + ": " + status.text()};
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const char* const kSpace = " \t\r";
    const std::size_t name = line.find_first_not_of(kSpace);
    if (name == std::string::npos || line[name] == '#') continue;
    const std::size_t name_end = std::min(line.find_first_of(kSpace, name), line.size());
    const std::size_t value = line.find_first_not_of(kSpace, name_end);
    Word word{path + ":" + std::to_string(number) + ": ", line.substr(name, name_end - name), ""};
    if (value == std::string::npos) return bad(word, "a value must follow");
    word.value = line.substr(value, line.find_last_not_of(kSpace) + 1 - value);
    words.push_back(std::move(word));
  }
  return {};
}

/// The options of the command line, as words; `file`: what --config says.
Status read_arguments(int argc, char** argv, std::vector<Word>& words, std::string& file, AggregateOptions::Wanted& wanted) {
  static const option kOptions[] = {{"key", 1, nullptr, 'w'},        {"listen", 1, nullptr, 'w'},     {"rails", 1, nullptr, 'w'},
                                    {"set", 1, nullptr, 'w'},        {"memory", 1, nullptr, 'w'},     {"job-memory", 1, nullptr, 'w'},
                                    {"statistics", 1, nullptr, 'w'}, {"upstream", 1, nullptr, 'w'},   {"verbose", 1, nullptr, 'w'},
                                    {"config", 1, nullptr, 'c'},     {"help", 0, nullptr, 'h'},       {"version", 0, nullptr, 'V'},
                                    {nullptr, 0, nullptr, 0}};
  optind = 0;  // from the beginning, also where it has been here before
  int which = 0;
  for (int letter; (letter = getopt_long(argc, argv, "h", kOptions, &which)) != -1;) {
    if (letter == 'w') words.push_back({"--", kOptions[which].name, optarg});
    if (letter == 'c' && !file.empty())
      return {Code::bad_parameter, std::string("--config ") + optarg + ": one file is allowed, and " + file + " is given already"};
    if (letter == 'c') file = optarg;
    if (letter == 'h') return wanted = AggregateOptions::Wanted::help, Status();
    if (letter == 'V') return wanted = AggregateOptions::Wanted::version, Status();
    if (letter == '?') return {Code::bad_parameter, "--help tells the options"};
  }
  if (optind != argc) return {Code::bad_parameter, std::string("'") + argv[optind] + "': only options are allowed"};
  return {};
}

}  // namespace

Status read_options(int argc, char** argv, AggregateOptions& options) {
  options = {};
  options.server.port = kPort;
  std::vector<Word> said, words;
  std::string file;
  if (Status status = read_arguments(argc, argv, said, file, options.wanted); !status.ok()) return status;
  if (options.wanted != AggregateOptions::Wanted::service) return {};
  if (!file.empty())
    if (Status status = read_config(file, words); !status.ok()) return status;
  words.insert(words.end(), said.begin(), said.end());
  for (const Word& word : words)
    if (Status status = apply(word, options); !status.ok()) return status;
  if (options.key.empty()) return {Code::bad_parameter, "--key is missing: the file with the key that jobs prove to know"};
  return {};
}

}  // namespace nezha
