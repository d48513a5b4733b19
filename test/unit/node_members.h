// SPDX-License-Identifier: BSD-3-Clause
/// Members of a node as threads of one process over one piece of memory, for tests of components/node.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "node/node_stage.h"
#include "node/node_wait.h"
#include "node_case.h"
#include "same_bytes.h"

namespace nezha::test {

/// Memory for a team, as a segment would map it.
class NodeGround {
 public:
  NodeGround(std::uint32_t members, std::size_t chunk) : layout_(members, chunk) {
    void* at = mmap(nullptr, layout_.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(at);
    NodeMemory::write_header(layout_, base_);
    // Members as threads, and as children of this process, which set their own.
    for (std::uint32_t i = 0; i < members; ++i) memory(i).member(i).trial.pid = static_cast<std::uint64_t>(getpid());
  }
  ~NodeGround() { munmap(base_, layout_.size()); }
  NodeGround(const NodeGround&) = delete;

  NodeMemory memory(std::uint32_t member) const { return {layout_, base_, member}; }
  std::byte* base() const { return base_; }
  const NodeLayout& layout() const { return layout_; }

 private:
  NodeLayout layout_;
  std::byte* base_ = nullptr;
};

/// Runs `body` once for each member, each in a thread.
inline void as_threads(std::uint32_t members, const std::function<void(std::uint32_t member)>& body) {
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < members; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

/// One member's side of a case, until it is over.
class NodeRank {
 public:
  NodeRank(NodeMemory& memory, const NodeStageOptions& options, bool spare_cores = false)
      : memory_(memory), stage_(memory, options), wait_(memory, spare_cores) {}

  NodeStage& stage() { return stage_; }

  void begin(const NodeCase& wanted) {
    case_ = wanted;
    from_elsewhere_ = node_input(wanted, wanted.from);
    went_on_ = true;
    input_ = node_input(wanted, memory_.self());
    const std::uint32_t self = memory_.self();
    const bool broadcasts = wanted.from != kEveryMember;
    const bool same = broadcasts || (wanted.in_place && takes());  // send and recv
    output_ = wanted.from == self || (same && !broadcasts) ? input_ : std::vector<std::byte>(wanted.bytes());
    changed_up_to_ = 0;
    const bool carries = node_part(case_.carriers, self) != case_.carriers.size();
    stage_.begin({.send = same ? output_.data() : input_.data(),
                  .recv = takes() || carries ? output_.data() : nullptr,
                  .bytes = wanted.bytes(),
                  .reducer = node_reducer(wanted),
                  .carriers = case_.carriers,
                  .from = wanted.from,
                  .to = wanted.to});
    changed_up_to_ = stage_.part().begin;
  }

  /// What to do now and then while waiting.
  void set_chore(std::function<void()> chore) { chore_ = std::move(chore); }

  /// True if anything moved.
  bool poll() {
    const bool moved = stage_.poll();
    if (!moved && chore_) chore_();
    change_carried();
    return moved;
  }

  /// Until the operation is over or has failed.
  void finish() {
    change_carried();
    while (!stage_.over() && stage_.failed().ok()) {
      if (poll()) {
        wait_.moved();
      } else {
        wait_.rest(kMillisecond, [this] { return poll() || stage_.over(); });
      }
    }
  }

  /// Finishes, and compares.
  void expect(const std::vector<std::byte>& expected) {
    finish();
    ASSERT_TRUE(stage_.failed().ok()) << "member " << stage_.failed_member() << ": " << stage_.failed().text();
    ASSERT_EQ(stage_.final_up_to(), case_.bytes());
    ASSERT_EQ(changed_up_to_, stage_.part().end);
    ASSERT_TRUE(went_on_) << "member " << memory_.self() << " has sent something else to other nodes";
    const NodeRange right = takes() ? NodeRange{0, case_.bytes()} : stage_.part();
    const auto begin = output_.begin() + static_cast<std::ptrdiff_t>(right.begin);
    const auto end = output_.begin() + static_cast<std::ptrdiff_t>(right.end);
    const bool same = same_bytes({begin, end}, std::span(expected).subspan(right.begin, right.size()));
    const auto at = same ? end : std::mismatch(begin, end, expected.begin() + static_cast<std::ptrdiff_t>(right.begin)).first;
    ASSERT_TRUE(same) << "first difference at byte " << at - output_.begin() << ", "
                           << "member " << memory_.self() << " of " << memory_.members() << ", " << case_.bytes()
                           << " bytes, in place " << case_.in_place << ", carriers " << case_.carriers.size() << ", from "
                           << case_.from << " to " << case_.to;
    const std::vector<std::byte> none(case_.bytes() - right.size());
    const bool untouched = same_bytes({output_.begin(), begin}, std::span(none).first(right.begin)) &&
                           same_bytes({end, output_.end()}, std::span(none).subspan(right.begin));
    ASSERT_TRUE(untouched) << "beside the part of member " << memory_.self();
    ASSERT_TRUE(case_.in_place || same_bytes(input_, node_input(case_, memory_.self())));
  }

 private:
  bool takes() const { return case_.to == kEveryMember || case_.to == memory_.self(); }

  void change_carried() {
    const std::size_t reduced = stage_.reduced_up_to();
    if (stage_.part().size() == 0 || (case_.whole_part_first && reduced < stage_.part().end)) return;
    for (; changed_up_to_ < reduced; ++changed_up_to_) {
      std::byte& at = output_[changed_up_to_];
      if (case_.from == kEveryMember) at = node_changed(at);
      if (case_.from == kNoMember) at = from_elsewhere_[changed_up_to_];
      if (case_.hands_out()) went_on_ = went_on_ && at == from_elsewhere_[changed_up_to_];
    }
    stage_.supply(changed_up_to_);
  }

  NodeMemory& memory_;
  NodeStage stage_;
  NodeWait wait_;
  NodeCase case_;
  std::function<void()> chore_;
  std::vector<std::byte> input_, output_;
  std::vector<std::byte> from_elsewhere_;  ///< where a broadcast's vector comes from, another node or a member
  bool went_on_ = true;                    ///< only right bytes of it were there to be sent to other nodes
  std::size_t changed_up_to_ = 0;
};

}  // namespace nezha::test
