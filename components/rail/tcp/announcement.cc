// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/announcement.h"

#include <algorithm>
#include <iterator>

#include "rail/tcp/socket.h"

namespace nezha {
namespace {

constexpr std::uint16_t kDiscard = 9;
/// After the first question; the last one is for links that take their time.
constexpr Nanoseconds kPauses[] = {10 * kMillisecond, 30 * kMillisecond, 120 * kMillisecond};
constexpr std::size_t kQuestions = std::size(kPauses) + 1;
constexpr std::size_t kTurns = 8;
constexpr unsigned kLongestPrefix = 30;

using Bytes = std::array<std::uint8_t, 16>;

std::uint32_t number_of(const Bytes& address) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | address[i];
  return number;
}

Bytes bytes_of(std::uint32_t number) {
  Bytes address{};
  for (std::size_t i = 0; i < 4; ++i) address[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  return address;
}

/// Somebody else may be in its network, who hears of questions.
bool asks_broadcasts(const Interface& interface) {
  return interface.family == 4 && interface.prefix != 0 && interface.prefix <= kLongestPrefix;
}

/// Within the network: that of broadcasts.
std::uint32_t last_host(const Interface& interface) { return 0xffffffffU >> interface.prefix; }

void ask(const Interface& interface, const Bytes& address) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketAddress from(interface.family, interface.address, 0), to(interface.family, address, kDiscard);
  if (!fd || bind_to_device(fd.get(), interface.device) == DeviceBinding::failed) return;
  if (bind(fd.get(), from.get(), from.size) == 0) sendto(fd.get(), nullptr, 0, MSG_NOSIGNAL, to.get(), to.size);
}

}  // namespace

std::vector<std::uint32_t> taken_addresses(const Interface& interface, std::span<const RailAddress* const> rails) {
  std::vector<std::uint32_t> taken;
  if (!asks_broadcasts(interface)) return taken;
  const std::uint32_t others = last_host(interface);
  TcpPlace place;
  for (const RailAddress* rail : rails) {
    if (!read_place(*rail, place) || place.family != 4) continue;
    const std::uint32_t address = number_of(place.address);
    if ((address | others) == (number_of(interface.address) | others)) taken.push_back(address);
  }
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

/// Nodes have addresses next to one another, so the search begins half the network away from our own.
std::vector<Bytes> unused_addresses(const Interface& interface, std::span<const std::uint32_t> taken, std::size_t most,
                                    std::size_t passed) {
  std::vector<Bytes> found;
  if (!asks_broadcasts(interface)) return found;
  const std::uint32_t last = last_host(interface);
  const std::uint32_t self = number_of(interface.address);
  for (std::uint32_t step = 0; step <= last && found.size() < passed + most; ++step) {
    const std::uint32_t host = (self + last / 2 + 1 + step) & last;
    const std::uint32_t address = (self & ~last) | host;
    if (host == 0 || host == last || address == self) continue;
    if (!std::binary_search(taken.begin(), taken.end(), address)) found.push_back(bytes_of(address));
  }
  const std::size_t superfluous = std::min(passed, found.size() - std::min(most, found.size()));
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(superfluous));
  return found;
}

Announcement::Announcement(const Interface& interface, std::span<const RailAddress* const> taken, std::size_t turn,
                           Nanoseconds now)
    : interface_(interface),
      addresses_(
          unused_addresses(interface, taken_addresses(interface, taken), kQuestions, turn % kTurns * kQuestions)),
      due_(now) {}

void Announcement::step(Nanoseconds now) {
  if (asked_ == addresses_.size() || now < due_) return;
  ask(interface_, addresses_[asked_]);
  if (asked_ < std::size(kPauses)) due_ = now + kPauses[asked_];
  ++asked_;
}

}  // namespace nezha
