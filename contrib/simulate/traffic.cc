// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <sstream>

namespace nezha_simulate {
namespace {

constexpr std::int32_t kMostRanks = 1 << 17;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

bool only_white(std::istream& rest) { return (rest >> std::ws).eof(); }

}  // namespace

std::string Traffic::read(std::istream& text) {
  int number = 0;
  bool begun = false;
  for (std::string line; std::getline(text, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    if (only_white(words)) continue;
    std::string why;
    if (std::string word; !begun) {
      int version = 0;
      if (!(words >> word >> version) || word != "nezha-traffic" || version != 1 || !only_white(words))
        why = "'nezha-traffic 1' is allowed";
      begun = true;
    } else if (ranks == 0) {
      if (!(words >> word >> ranks) || word != "ranks" || ranks < 2 || ranks > kMostRanks || !only_white(words))
        why = "'ranks N' is allowed, N from 2 to " + std::to_string(kMostRanks);
    } else {
      why = read_message(line);
    }
    if (!why.empty()) return "line " + std::to_string(number) + ": " + why;
  }
  return messages.empty() ? "there is no message" : "";
}

std::string Traffic::read_message(const std::string& line) {
  std::istringstream words(line);
  Message message{};
  if (!(words >> message.from >> message.to >> message.bytes))
    return "'FROM TO BYTES' is allowed, and the numbers of messages to wait for";
  for (const std::int32_t rank : {message.from, message.to})
    if (rank < 0 || rank >= ranks)
      return "rank " + std::to_string(rank) + ": 0 to " + std::to_string(ranks - 1) + " is allowed";
  if (message.from == message.to) return "a message from rank " + std::to_string(message.to) + " to itself";
  if (message.bytes < 1 || message.bytes > kMostBytes)
    return std::to_string(message.bytes) + " bytes: 1 to " + std::to_string(kMostBytes) + " is allowed";
  while (!only_white(words)) {
    std::int32_t after = 0;
    if (!(words >> after) || after < 1 || static_cast<std::size_t>(after) > messages.size())
      return "to wait for: numbers from 1 to " + std::to_string(messages.size()) + " are allowed";
    if (messages[static_cast<std::size_t>(after) - 1].to != message.from)
      return "message " + std::to_string(after) + " does not go to rank " + std::to_string(message.from);
    message.after.push_back(after - 1);
  }
  messages.push_back(std::move(message));
  return {};
}

}  // namespace nezha_simulate
