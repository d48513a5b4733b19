// SPDX-License-Identifier: BSD-3-Clause
/// What the members of a team on one node see of each other: flags, slots, sleepers, and who is gone. A view of memory
/// that somebody else maps and unmaps (segment.h). Each member has a NodeMemory of its own for each track; one thread
/// at a time uses them. Who sleeps and who is gone is the same on all tracks.
///
/// Flags only grow and are sequentially consistent. So a member that announces its sleep and then reads the flags once
/// more cannot miss an advance whose writer saw no sleeper.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/node_layout.h"
#include "util/clock.h"
#include "util/status.h"

namespace nezha {

using NodeFlag = std::uint64_t NodeFlags::*;

/// How a member reads the vectors of its neighbours.
enum class NodeAccess { copies, single_copy };

/// Why a member takes part no longer.
enum class NodeEnd : std::uint32_t { none, died, gave_up, left };

/// For messages, after the name of a member.
const char* text_of(NodeEnd end);

class NodeMemory {
 public:
  /// The memory begins at `base`, has layout.size() bytes, and outlives this.
  NodeMemory(const NodeLayout& layout, std::byte* base, std::uint32_t self, std::size_t track = 0);
  /// The same memory, for operations of that track.
  NodeMemory on(std::size_t track) const { return {layout_, base_, self_, track}; }

  /// By the maker of the memory, before anybody else sees it.
  static void write_header(const NodeLayout& layout, std::byte* base);
  /// Not ok when the memory is not what `layout` says.
  static Status check_header(const NodeLayout& layout, const std::byte* base);

  const NodeLayout& layout() const { return layout_; }
  /// Bytes of a chunk that goes through slots.
  std::size_t chunk() const { return track().chunk(); }
  std::uint32_t members() const { return layout_.members(); }
  std::uint32_t self() const { return self_; }

  static std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(); }
  static void store(std::uint64_t& word, std::uint64_t value) { std::atomic_ref(word).store(value); }
  /// Stores and wakes who sleeps.
  void advance(std::uint64_t& word, std::uint64_t value) {
    store(word, value);
    wake();
  }
  static std::uint64_t peek(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }
  static void put(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  }

  NodeMember& member(std::uint32_t index) const { return at<NodeMember>(layout_.member(index)); }
  NodeLines& lines(std::uint32_t index) const { return at<NodeLines>(track().lines(index)); }
  NodeSmallSlot& small(std::uint32_t index, std::uint64_t operation) const {
    return at<NodeSmallSlot>(track().small(index, operation));
  }
  NodeSmallSlot& result(std::uint32_t index, std::uint64_t operation) const {
    return at<NodeSmallSlot>(track().result(index, operation));
  }
  std::byte* in(std::uint32_t index, std::uint64_t chunk) const { return base_ + track().in(index, chunk); }
  std::byte* out(std::uint32_t index, std::uint64_t chunk) const { return base_ + track().out(index, chunk); }
  std::byte* share(std::uint32_t index, std::uint64_t chunk) const { return base_ + track().share(index, chunk); }

  /// A member is gone: the others stop waiting for it. The first reason stays. Any thread.
  void mark_gone(std::uint32_t index, NodeEnd why);
  /// This member ends the operations of all members. `because_of`: the member at fault, which may be itself; from
  /// members() on a process of another node, which all members number alike.
  void give_up(std::uint32_t because_of);
  /// The `because_of` of a member that gave up; the member itself if it named none.
  std::uint32_t blamed(std::uint32_t index) const;
  bool anybody_gone() const;
  NodeEnd gone(std::uint32_t index) const;

  /// To sleep: announce, look once more whether anything has moved, sleep if nothing has, and say so when awake.
  void announce_sleep();
  /// Until a member advances a flag, or `timeout` has passed at the latest.
  void sleep(Nanoseconds timeout);
  void awake();
  /// Some thread of this process is between announce_sleep() and awake(): the memory has to stay. Guarded by the caller's lock.
  bool slept_on() const { return sleeping_ != 0; }
  bool anybody_sleeps() const { return std::atomic_ref(header().sleepers).load() != 0; }
  /// Wakes all other members that sleep. No system call if nobody does.
  void wake();
  /// Wakes that one if it sleeps and is not this one.
  void wake(std::uint32_t index);

 private:
  template <typename T>
  T& at(std::size_t offset) const {
    return *reinterpret_cast<T*>(base_ + offset);
  }
  const NodeTrackLayout& track() const { return layout_.track(track_); }
  NodeHeader& header() const { return at<NodeHeader>(0); }
  void wake_sleepers();

  NodeLayout layout_;
  std::byte* base_;
  std::uint32_t self_;
  std::size_t track_;
  unsigned sleeping_ = 0;  ///< threads of this process, by way of this object
};

inline void NodeMemory::wake() {
  if (anybody_sleeps()) wake_sleepers();
}

}  // namespace nezha
