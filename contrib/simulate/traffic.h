/* SPDX-License-Identifier: BSD-3-Clause */
/// Messages between ranks, each of which waits for others that its sender has to have received: what an algorithm
/// sends.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace nezha_simulate {

/// As text:
///
///   nezha-traffic 1
///   ranks 4
///   0 1 65536          from rank 0 to rank 1, so many bytes, at once
///   1 2 65536 1        when the first message has come to rank 1
///   1 3 65536 1 2      ... numbers count the messages from 1 on; only earlier ones to the sender are allowed
///
/// Empty lines and what follows # are left out.
struct Traffic {
  struct Message {
    std::int32_t from, to;
    std::int64_t bytes;
    std::vector<std::int32_t> after;  ///< indices, from 0 on
  };

  std::int32_t ranks = 0;
  std::vector<Message> messages;

  /// Empty, or what is wrong with the text: the line, and what is allowed.
  std::string read(std::istream& text);

 private:
  std::string read_message(const std::string& line);
};

}  // namespace nezha_simulate
