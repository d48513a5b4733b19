// SPDX-License-Identifier: BSD-3-Clause
#include "node/node_memory.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <string>

namespace nezha {
namespace {

constexpr std::uint64_t kMagic = 0x65'64'6f'6e'61'7a'65'6e;  // "nezanode"
constexpr std::uint64_t kVersion = 4;

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free &&
                  std::atomic_ref<std::uint32_t>::is_always_lock_free,
              "a lock would lie in the memory of one process");

void futex(std::uint32_t& word, int operation, std::uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

const char* text_of(NodeEnd end) {
  switch (end) {
    case NodeEnd::died:
      return "its process has ended";
    case NodeEnd::left:
      return "it has left the team";
    default:
      return "it has given up";
  }
}

NodeMemory::NodeMemory(const NodeLayout& layout, std::byte* base, std::uint32_t self, std::size_t track)
    : layout_(layout), base_(base), self_(self), track_(track) {}

void NodeMemory::write_header(const NodeLayout& layout, std::byte* base) {
  auto& header = *reinterpret_cast<NodeHeader*>(base);
  header.version = kVersion;
  header.members = layout.members();
  header.chunk = layout.chunk();
  header.size = layout.size();
  std::atomic_ref(header.magic).store(kMagic);
}

Status NodeMemory::check_header(const NodeLayout& layout, const std::byte* base) {
  const auto& header = *reinterpret_cast<const NodeHeader*>(base);
  if (header.magic != kMagic) return {Code::bad_wire, "the shared memory has no header of Nezha's"};
  if (header.version != kVersion) {
    return {Code::bad_wire, "the shared memory has version " + std::to_string(header.version) +
                                ", this process knows " + std::to_string(kVersion)};
  }
  if (header.members != layout.members() || header.chunk != layout.chunk() || header.size != layout.size()) {
    return {Code::bad_wire, "the shared memory is for " + std::to_string(header.members) + " members and chunks of " +
                                std::to_string(header.chunk) + " bytes, this process wants " +
                                std::to_string(layout.members()) + " and " + std::to_string(layout.chunk())};
  }
  return {};
}

void NodeMemory::mark_gone(std::uint32_t index, NodeEnd why) {
  std::uint32_t none = 0;
  if (!std::atomic_ref(member(index).gone).compare_exchange_strong(none, static_cast<std::uint32_t>(why))) return;
  std::atomic_ref(header().gone).fetch_add(1);
  wake();
}

void NodeMemory::give_up(std::uint32_t because_of) {
  std::atomic_ref(member(self_).blamed).store(because_of + 1);
  mark_gone(self_, NodeEnd::gave_up);
}

std::uint32_t NodeMemory::blamed(std::uint32_t index) const {
  const std::uint32_t word = std::atomic_ref(member(index).blamed).load();
  return word == 0 ? index : word - 1;
}

bool NodeMemory::anybody_gone() const { return std::atomic_ref(header().gone).load() != 0; }

NodeEnd NodeMemory::gone(std::uint32_t index) const {
  const std::uint32_t why = std::atomic_ref(member(index).gone).load();
  return why <= static_cast<std::uint32_t>(NodeEnd::left) ? static_cast<NodeEnd>(why) : NodeEnd::gave_up;
}

void NodeMemory::announce_sleep() {
  ++sleeping_;
  std::atomic_ref(member(self_).asleep).store(1);
  std::atomic_ref(header().sleepers).fetch_add(1);
}

void NodeMemory::sleep(Nanoseconds timeout) {
  const timespec relative{static_cast<time_t>(timeout / kSecond), static_cast<long>(timeout % kSecond)};
  futex(member(self_).asleep, FUTEX_WAIT, 1, &relative);
}

void NodeMemory::awake() {
  --sleeping_;
  std::atomic_ref(header().sleepers).fetch_sub(1);
  std::atomic_ref(member(self_).asleep).store(0);
}

void NodeMemory::wake_sleepers() {
  for (std::uint32_t index = 0; index < members(); ++index) wake(index);
}

void NodeMemory::wake(std::uint32_t index) {
  if (index == self_) return;
  std::atomic_ref asleep(member(index).asleep);
  if (asleep.load() == 1 && asleep.exchange(0) == 1) futex(member(index).asleep, FUTEX_WAKE, 1, nullptr);
}

}  // namespace nezha
