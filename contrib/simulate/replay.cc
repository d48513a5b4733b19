// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

namespace nezha_simulate {

Replay::Replay(const Traffic& traffic) : waiting_(traffic.messages.size()), left_(traffic.messages.size()) {
  for (const Traffic::Message& message : traffic.messages) {
    const auto number = static_cast<std::int32_t>(bytes_.size());
    bytes_.push_back(message.bytes);
    missing_.push_back(static_cast<std::int32_t>(message.after.size()));
    for (const std::int32_t other : message.after) waiting_[static_cast<std::size_t>(other)].push_back(number);
    if (message.after.empty()) first_.push_back(number);
  }
}

bool Replay::arrived(std::int32_t message, std::int64_t bytes) {
  std::int64_t& left = bytes_[static_cast<std::size_t>(message)];
  left -= bytes;
  if (left > 0) return false;
  --left_;
  return true;
}

}  // namespace nezha_simulate
