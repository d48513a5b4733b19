// SPDX-License-Identifier: BSD-3-Clause
#include "rail/btl/host_messages.h"

#include <utility>

namespace nezha {
namespace {

constexpr std::size_t kMostSpare = 256;

}  // namespace

void HostMessages::arrived(std::span<const std::span<const std::byte>> pieces) {
  const std::lock_guard lock(mutex_);
  Message message;
  if (!spare_.empty()) {
    message = std::move(spare_.back());
    spare_.pop_back();
    message.clear();
  }
  for (const auto piece : pieces) message.insert(message.end(), piece.begin(), piece.end());
  came_.push_back(std::move(message));
}

std::vector<HostMessages::Message> HostMessages::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(came_, {});
}

void HostMessages::give_back(std::vector<Message> messages) {
  const std::lock_guard lock(mutex_);
  for (Message& message : messages)
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(message));
}

}  // namespace nezha
