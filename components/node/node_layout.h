// SPDX-License-Identifier: BSD-3-Clause
/// Where everything lies in the memory that the members of a team on one node share. Every member computes it alike
/// from the number of members and the chunk, and checks the header against it; no size or offset is ever taken from the
/// memory.
///
///   header | members | track 0 | track 1 | ...      a track: member 0 | member 1 | ...
///   a member on a track: lines | small slots | result slots | in | out | share
///
/// A track has one operation at a time; those of several tracks go on independently. Only its owner writes a member's
/// flags and slots. Lines of different writers are kNodeLine apart. Pages are touched on first use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace nezha {

constexpr std::size_t kNodeLine = 128;         ///< bytes: two cache lines, because processors fetch them in pairs
constexpr std::size_t kNodeSmall = 32 * 1024;  ///< the largest vector that goes through the small slots, bytes
constexpr std::size_t kNodeDepth = 4;          ///< chunks that a member may be ahead of the slowest one
constexpr std::uint32_t kMostNodeMembers = 1024;
constexpr std::size_t kLeastNodeChunk = 4 * 1024, kMostNodeChunk = 256 * 1024;
constexpr std::size_t kNodeTracks = 9;
constexpr std::size_t kMostLaterChunk = 64 * 1024;  ///< of all tracks but the first: many may be in use at once

/// At the beginning of the memory. `sleepers` and `gone` are hints: the truth is in the members' lines.
struct NodeHeader {
  std::uint64_t magic, version;
  std::uint64_t members, chunk, size;
  alignas(kNodeLine) std::uint32_t sleepers;  ///< how many members are in FUTEX_WAIT or about to be
  alignas(kNodeLine) std::uint32_t gone;      ///< how often a member was marked as gone
};

/// Numbers of chunks, counted over all operations of the track: each is one more than the last chunk that is done.
struct NodeFlags {
  std::uint64_t contributed;  ///< copied in
  std::uint64_t reduced;      ///< own slice reduced
  std::uint64_t gathered;     ///< as carrier: the slices are in its vector
  std::uint64_t supplied;     ///< as carrier: the result may be taken
  std::uint64_t taken;        ///< the result is in this member's vector
};

/// What a member says of the chunked operations that it has begun. The last two, in turn: the member itself may have
/// begun the next one while others are still at the last.
struct NodeCallLine {
  std::uint64_t begun;  ///< operations begun
  struct {
    std::uint64_t bytes, send, recv;  ///< the addresses are the member's own
  } last[2];
};

/// For the choice between single copy and copies through the memory.
struct NodeTrialLine {
  std::uint64_t arrived;  ///< not 0 once the other words are valid
  std::uint64_t pid, probe, value;
  std::uint64_t verdict;  ///< NodeVerdict
};

/// What a member says on a track.
struct NodeLines {
  alignas(kNodeLine) NodeFlags flags;
  alignas(kNodeLine) NodeCallLine call;
};

/// And for all tracks.
struct NodeMember {
  alignas(kNodeLine) NodeTrialLine trial;
  alignas(kNodeLine) std::uint32_t asleep;  ///< 1: the member waits on this word
  std::uint32_t gone;                       ///< NodeEnd; written by whoever notices
  std::uint32_t blamed;                     ///< gone because it gave up: the member that it gave up for, plus one
  alignas(kNodeLine) std::uint64_t beat;    ///< node_life.h
};

/// One vector of up to kNodeSmall bytes. The flag shares the line of the first bytes, so that they come together.
struct NodeSmallSlot {
  alignas(kNodeLine) std::uint64_t flag;  ///< small operations up to this one
  std::uint64_t bytes;
  std::byte data[kNodeSmall];
};

class NodeTrackLayout {
 public:
  NodeTrackLayout() = default;
  /// `begin`: where its first byte lies. `chunk` is rounded up to whole pages and at least kLeastNodeChunk.
  NodeTrackLayout(std::size_t begin, std::uint32_t members, std::size_t chunk);

  std::size_t chunk() const { return chunk_; }
  std::size_t end() const { return lines(members_); }

  std::size_t lines(std::uint32_t index) const { return begin_ + index * stride_; }
  std::size_t small(std::uint32_t index, std::uint64_t operation) const {
    return lines(index) + kLines + operation % 2 * sizeof(NodeSmallSlot);
  }
  std::size_t result(std::uint32_t index, std::uint64_t operation) const {
    return small(index, operation) + 2 * sizeof(NodeSmallSlot);
  }
  std::size_t in(std::uint32_t index, std::uint64_t chunk) const { return slot(index, chunk); }
  std::size_t out(std::uint32_t index, std::uint64_t chunk) const { return slot(index, chunk) + kNodeDepth * chunk_; }
  std::size_t share(std::uint32_t index, std::uint64_t chunk) const {
    return slot(index, chunk) + 2 * kNodeDepth * chunk_;
  }

 private:
  static constexpr std::size_t kPage = 4096, kLines = kPage;
  static constexpr std::size_t kSlots = (kLines + 4 * sizeof(NodeSmallSlot) + kPage - 1) / kPage * kPage;
  static constexpr std::size_t kApart = kPage / 2;  ///< from where in a page most vectors begin (copy.h)
  static_assert(sizeof(NodeLines) <= kLines);

  std::size_t slot(std::uint32_t index, std::uint64_t chunk) const {
    return lines(index) + kSlots + kApart + static_cast<std::size_t>(chunk % kNodeDepth) * chunk_;
  }

  std::size_t begin_ = 0;
  std::uint32_t members_ = 0;
  std::size_t chunk_ = 0, stride_ = 0;
};

class NodeLayout {
 public:
  /// `chunk`: of the first track, at most kMostNodeChunk; the others have the same, or kMostLaterChunk.
  NodeLayout(std::uint32_t members, std::size_t chunk);

  /// Fits a second-level cache of 1 MiB with the chunks that a member reads and writes at a time.
  static std::size_t usual_chunk(std::uint32_t members);
  /// The largest vector that goes through the small slots, bytes. Where the node is alone every member reads all
  /// vectors of those, else (`carried`) a carrier does, for all, which saves two rounds through the members. With more
  /// members cutting the vector pays sooner.
  static std::size_t small_limit(std::uint32_t members, bool carried) {
    return carried ? std::clamp(kMostFolded / members, kLeastSmall, kNodeSmall)
                   : std::clamp(kMostRead / members, kLeastSmall, kMostRead / 2);
  }

  std::uint32_t members() const { return members_; }
  std::size_t chunk() const { return tracks_.front().chunk(); }
  std::size_t size() const { return tracks_.back().end(); }
  std::size_t member(std::uint32_t index) const { return kHeader + index * sizeof(NodeMember); }
  const NodeTrackLayout& track(std::size_t index) const { return tracks_[index]; }

 private:
  static constexpr std::size_t kLeastSmall = 2 * 1024, kMostRead = 16 * 1024, kMostFolded = 64 * 1024;
  static constexpr std::size_t kPage = 4096, kHeader = kPage;
  static_assert(sizeof(NodeHeader) <= kHeader);

  std::uint32_t members_;
  std::array<NodeTrackLayout, kNodeTracks> tracks_;
};

}  // namespace nezha
