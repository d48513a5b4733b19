// SPDX-License-Identifier: BSD-3-Clause
#include "node/chunked_operation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "node/copy.h"

namespace nezha {
namespace {

constexpr std::size_t kFold =
    32 * 1024;  ///< bytes folded at a time: sum and contribution stay in the first-level cache

std::uint64_t address_of(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

ChunkedOperation::ChunkedOperation(NodeMemory& memory, std::size_t chunk, const Clock* clock, const NodeSystem& system)
    : NodeOperation(memory), single_chunk_(std::max(chunk, memory.chunk())), clock_(clock), system_(system) {}

void ChunkedOperation::begin(const NodeCall& call) {
  base_ += cut_.chunks();
  call_ = call;
  const std::size_t parts = std::max<std::size_t>(1, call.carriers.size());
  const std::size_t chunk = copies() || !alone() ? memory_.chunk() : single_chunk_;  // chunks go through slots or not
  cut_ = NodeCut(call.bytes, call.reducer.element, chunk, memory_.members(), parts);
  contributed_ = reduced_ = call.folds() ? 0 : cut_.chunks();
  taken_ = call.goes_to(self()) ? 0 : cut_.chunks();
  const std::size_t own = node_part(call.carriers, self());
  const bool carries = own < call.carriers.size(), hands_out = call.from == self();
  next_carried_ = carries && call.folds() ? own : cut_.chunks();
  next_supplied_ = carries && !call.hands_out() && call.to != kNoMember ? own : cut_.chunks();
  supplies_ = parts;
  const NodeRange part = carries ? cut_.part(own) : NodeRange{};
  reduced_up_to_ = call.from == kNoMember || hands_out ? part.end : part.begin;
  supplied_up_to_ = part.begin;
  if (hands_out) {
    next_supplied_ = 0;
    supplies_ = 1;
    supplied_up_to_ = call.bytes;
  }
  begun_ = 0;
  const std::size_t fold = std::max(kFold, call.reducer.element);
  if (scratch_.size() < 2 * (fold + kCopyPage)) scratch_.resize(2 * (fold + kCopyPage));

  ++operations_;
  announced_ = false;
  announce();
}

bool ChunkedOperation::announce() {
  for (std::uint32_t member = 0; !met_ && member < memory_.members(); ++member)
    if (NodeMemory::load(memory_.lines(member).call.begun) + 1 < operations_) return false;
  NodeLines& lines = memory_.lines(self());
  auto& said = lines.call.last[operations_ % 2];
  NodeMemory::put(said.bytes, call_.bytes);
  NodeMemory::put(said.send, address_of(call_.send));
  NodeMemory::put(said.recv, address_of(call_.recv));
  const std::uint64_t end = base_ + cut_.chunks();
  if (!call_.folds()) {
    NodeMemory::store(lines.flags.contributed, end);
    NodeMemory::store(lines.flags.reduced, end);
  }
  if (!call_.goes_to(self())) NodeMemory::store(lines.flags.taken, end);
  memory_.advance(lines.call.begun, operations_);
  announced_ = true;
  met_ = call_.folds();
  return true;
}

bool ChunkedOperation::poll() {
  if (!trouble().ok() || (!announced_ && !announce())) return false;
  if (clock_ != nullptr) looked_ = clock_->now();
  const bool contributed = timed(&ChunkedOperation::contribute, &NodeTimes::copied_in);
  const bool reduced = timed(&ChunkedOperation::reduce, &NodeTimes::reduced);
  const bool gathered = timed(&ChunkedOperation::gather, &NodeTimes::gathered);
  const bool shared = timed(&ChunkedOperation::share, &NodeTimes::shared);
  return contributed || reduced || gathered || shared;
}

/// A stage that finds nothing to do costs no look at the clock.
bool ChunkedOperation::timed(bool (ChunkedOperation::*stage)(), Nanoseconds NodeTimes::*time) {
  const bool moved = (this->*stage)();
  if (!moved || clock_ == nullptr) return moved;
  const Nanoseconds now = clock_->now();
  times_.*time += now - looked_;
  looked_ = now;
  return true;
}

bool ChunkedOperation::over() {
  const std::uint64_t chunks = cut_.chunks();
  const bool own = announced_ && reduced_ == chunks && taken_ == chunks && next_carried_ >= chunks && next_supplied_ >= chunks;
  if (!own || chunks == 0) return own;
  if (call_.folds() && call_.to != kEveryMember && !all_gathered()) return false;
  return copies() || (all_reached(seen_reduced_, chunks - 1) && all_reached(seen_taken_, chunks - 1));
}

/// The `out` slots are free, of which a member that gets a result knows by that.
bool ChunkedOperation::all_gathered() const {
  for (std::uint64_t chunk = cut_.chunks() - call_.carriers.size(); chunk < cut_.chunks(); ++chunk)
    if (!reached(carrier_of(chunk), &NodeFlags::gathered, chunk)) return false;
  return true;
}

bool ChunkedOperation::has_done(std::uint32_t member) {
  const std::uint64_t chunks = cut_.chunks();
  if (NodeMemory::load(flags(member).reduced) < base_ + chunks || NodeMemory::load(flags(member).taken) < base_ + chunks)
    return false;
  const std::size_t part = node_part(call_.carriers, member);
  if (part == call_.carriers.size() || call_.hands_out()) return true;
  const std::uint64_t last = chunks - call_.carriers.size() + part;
  return (!call_.folds() || reached(member, &NodeFlags::gathered, last)) &&
         (call_.to == kNoMember || reached(member, &NodeFlags::supplied, last));
}

bool ChunkedOperation::reached(std::uint32_t member, NodeFlag flag, std::uint64_t chunk) const {
  return NodeMemory::load(flags(member).*flag) > base_ + chunk;
}

bool ChunkedOperation::all_reached(Seen& seen, std::uint64_t chunk) {
  if (seen.all > base_ + chunk) return true;
  std::uint64_t all = UINT64_MAX;
  for (std::uint32_t member = 0; member < memory_.members() && all > base_ + chunk; ++member) {
    all = std::min(all, NodeMemory::load(flags(member).*seen.flag));
  }
  if (all <= base_ + chunk) return false;
  seen.all = all;
  return true;
}

bool ChunkedOperation::slot_is_free(Seen& seen, std::uint64_t chunk) {
  if (base_ + chunk < kNodeDepth || seen.all > base_ + chunk - kNodeDepth) return true;
  std::uint64_t all = UINT64_MAX;
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    all = std::min(all, NodeMemory::load(flags(member).*seen.flag));
  }
  seen.all = std::max(seen.all, all);
  return seen.all > base_ + chunk - kNodeDepth;
}

void ChunkedOperation::say(NodeFlag flag, std::uint64_t done) { memory_.advance(flags(self()).*flag, base_ + done); }

bool ChunkedOperation::all_begun() {
  for (; begun_ < memory_.members(); ++begun_)
    if (!begun_alike(begun_)) return false;
  return true;
}

/// False also where it has not begun.
bool ChunkedOperation::begun_alike(std::uint32_t member) {
  NodeCallLine& line = memory_.lines(member).call;
  if (NodeMemory::load(line.begun) < operations_) return false;
  const std::uint64_t bytes = NodeMemory::peek(line.last[operations_ % 2].bytes);
  if (bytes == call_.bytes) return true;
  fail(member, {Code::bad_peer, "it calls with a vector of " + std::to_string(bytes) + " bytes, this process with " +
                                    std::to_string(call_.bytes)});
  return false;
}

bool ChunkedOperation::contribute() {
  if (contributed_ == cut_.chunks() || (copies() && !slot_is_free(seen_reduced_, contributed_))) return false;
  if (copies()) {
    const NodeRange chunk = cut_.chunk(contributed_), own = cut_.slice(chunk, self());
    std::byte* slot = memory_.in(self(), base_ + contributed_);
    if (call_.gathers()) {
      const NodeRange block = chunk.with(call_.block_of(self(), memory_.members()));
      copy_bytes(slot + (block.begin - chunk.begin), call_.send + block.begin, block.size());
    } else {
      copy_bytes(slot, call_.send + chunk.begin, own.begin - chunk.begin);
      copy_bytes(slot + (own.end - chunk.begin), call_.send + own.end, chunk.end - own.end);
    }
    say(&NodeFlags::contributed, ++contributed_);
    return true;
  }
  // The call line has said where all of it lies.
  contributed_ = cut_.chunks();
  say(&NodeFlags::contributed, contributed_);
  return true;
}

bool ChunkedOperation::reduce() {
  if (reduced_ == cut_.chunks() || !all_begun()) return false;
  if (copies() && !all_reached(seen_contributed_, reduced_)) return false;
  if (!result_has_room()) return false;
  const NodeRange chunk = cut_.chunk(reduced_), slice = cut_.slice(chunk, self());
  if (slice.size() != 0) {
    std::byte* out = place_of_result(chunk, slice);
    if (!(call_.gathers() ? collect(chunk, slice, out) : fold(chunk, slice, out))) return false;
    if (alone() && copies()) copy_bytes(call_.recv + slice.begin, out, slice.size());
  }
  say(&NodeFlags::reduced, ++reduced_);
  return true;
}

bool ChunkedOperation::result_has_room() {
  if (alone()) return !copies() || slot_is_free(seen_taken_, reduced_);
  if (is_carrier(reduced_)) return true;
  // The chunk that had the slot before this one, other than those that this member carried itself. The operation before
  // this one is over, so its `out` slots are free.
  for (std::uint64_t chunk = reduced_; chunk >= kNodeDepth;) {
    chunk -= kNodeDepth;
    if (!is_carrier(chunk)) return reached(carrier_of(chunk), &NodeFlags::gathered, chunk);
  }
  return true;
}

std::byte* ChunkedOperation::place_of_result(const NodeRange& chunk, const NodeRange& slice) {
  const std::size_t at = slice.begin - chunk.begin;
  if (alone() ? !copies() : is_carrier(reduced_)) return call_.recv + slice.begin;
  return (alone() ? memory_.share(self(), base_ + reduced_) : memory_.out(self(), base_ + reduced_)) + at;
}

/// Right to left, x0 op (x1 op (... xn)): the kernels' operands stay in the order of members, and the sum may lie where
/// the right operand lay.
bool ChunkedOperation::fold(const NodeRange& chunk, const NodeRange& slice, std::byte* out) {
  const std::size_t element = call_.reducer.element, step = std::max(element, kFold / element * element);
  const bool overwrites = out == call_.send + slice.begin;
  for (NodeRange at{slice.begin, slice.begin}; at.begin != slice.end; at.begin = at.end) {
    at.end = std::min(slice.end, at.begin + step);
    std::byte* const here = out + (at.begin - slice.begin);
    std::byte* const room = overwrites ? scratch_.data() : here;
    const std::byte* sum = contribution(memory_.members() - 1, chunk, at, room);
    if (sum == nullptr) return false;
    for (std::uint32_t member = memory_.members() - 1; member-- > 0;) {
      const std::byte* value = contribution(member, chunk, at, nullptr);
      if (value == nullptr) return false;
      call_.reducer.fold(value, sum, room, at.size(), at.begin);
      sum = room;
    }
    if (sum != here) copy_bytes(here, sum, at.size());
  }
  return true;
}

bool ChunkedOperation::collect(const NodeRange& chunk, const NodeRange& slice, std::byte* out) {
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    const NodeRange all = slice.with(call_.block_of(member, memory_.members()));
    for (NodeRange at{all.begin, all.begin}; at.begin < all.end; at.begin = at.end) {
      at.end = std::min(all.end, at.begin + kFold);
      const std::byte* value = contribution(member, chunk, at, nullptr);
      if (value == nullptr) return false;
      std::byte* const here = out + (at.begin - slice.begin);
      if (value != here) copy_bytes(here, value, at.size());
    }
  }
  return true;
}

/// Where a member's part of the vector can be read: in `room`, or, without one, wherever it lies or in the scratch.
/// nullptr when it cannot be read.
const std::byte* ChunkedOperation::contribution(std::uint32_t member, const NodeRange& chunk, const NodeRange& range,
                                                std::byte* room) {
  if (member == self()) return call_.send + range.begin;
  if (copies()) return memory_.in(member, base_ + reduced_) + (range.begin - chunk.begin);
  const std::uint64_t vector = NodeMemory::peek(memory_.lines(member).call.last[operations_ % 2].send);
  if (room == nullptr) room = apart_from(vector + range.begin);
  return read(member, vector, range, room) ? room : nullptr;
}

bool ChunkedOperation::read(std::uint32_t member, std::uint64_t vector, const NodeRange& range, std::byte* to) {
  const std::uint64_t from = vector + range.begin;
  if (!copies_slowly(address_of(to), from)) return read_peer(member, from, to, range.size());
  std::byte* const between = apart_from(from);
  for (std::size_t at = 0; at < range.size(); at += kFold) {
    const std::size_t bytes = std::min(kFold, range.size() - at);
    if (!read_peer(member, from + at, between, bytes)) return false;
    copy_bytes(to + at, between, bytes);
  }
  return true;
}

/// The second half of the scratch, less than a page into it: half a page away from `address`, modulo a page.
std::byte* ChunkedOperation::apart_from(std::uint64_t address) {
  std::byte* const half = scratch_.data() + scratch_.size() / 2;
  return half + (address + kCopyPage / 2 - address_of(half)) % kCopyPage;
}

bool ChunkedOperation::read_peer(std::uint32_t member, std::uint64_t from, std::byte* to, std::size_t bytes) {
  const auto pid = static_cast<pid_t>(NodeMemory::peek(memory_.member(member).trial.pid));
  const int error = system_.read(pid, from, to, bytes);
  // Known to the others at once, so that all name the same member.
  if (error == ESRCH) memory_.mark_gone(member, NodeEnd::died);
  // A member that has given up may have let go of its vector, or changed it, before it was read. One that has ended may
  // have taken its result: then nothing else is awaited of it, and only who wants to read its vector knows.
  if (memory_.anybody_gone() && memory_.gone(member) != NodeEnd::none) {
    fail(member, {Code::closed, text_of(memory_.gone(member))});
    return false;
  }
  if (error == 0) return true;
  fail(member, {Code::bad_peer, std::string("its vector cannot be read: ") + std::strerror(error)});
  return false;
}

bool ChunkedOperation::gather() {
  if (next_carried_ >= cut_.chunks() || !all_reached(seen_reduced_, next_carried_)) return false;
  const NodeRange chunk = cut_.chunk(next_carried_);
  for (std::uint32_t member = 0; member < memory_.members(); ++member) {
    NodeRange slice = cut_.slice(chunk, member);
    if (call_.gathers()) slice = slice.with(call_.blocks_in(cut_.part_of(next_carried_), memory_.members()));
    if (member == self() || slice.size() == 0) continue;
    const std::byte* out = memory_.out(member, base_ + next_carried_) + (slice.begin - chunk.begin);
    copy_bytes(call_.recv + slice.begin, out, slice.size());
  }
  reduced_up_to_ = chunk.end;
  say(&NodeFlags::gathered, next_carried_ + 1);
  next_carried_ += call_.carriers.size();
  return true;
}

bool ChunkedOperation::share() {
  bool moved = false;
  if (next_supplied_ < std::min(next_carried_, cut_.chunks())) {
    const NodeRange chunk = cut_.chunk(next_supplied_);
    if (supplied_up_to_ >= chunk.end) moved = share_own(chunk);
  }
  if (taken_ == cut_.chunks()) return moved;
  const NodeRange chunk = cut_.chunk(taken_);
  if (!(alone() && call_.folds() ? share_slices(chunk) : share_carried(chunk))) return moved;
  say(&NodeFlags::taken, ++taken_);
  return true;
}

bool ChunkedOperation::share_own(const NodeRange& range) {
  if (copies() && call_.to != self()) {
    if (!slot_is_free(seen_taken_, next_supplied_)) return false;
    copy_bytes(memory_.share(self(), base_ + next_supplied_), call_.recv + range.begin, range.size());
  }
  say(&NodeFlags::supplied, next_supplied_ + 1);
  next_supplied_ += supplies_;
  return true;
}

bool ChunkedOperation::share_slices(const NodeRange& range) {
  if (!all_reached(seen_reduced_, taken_)) return false;
  // Each member begins with the slices after its own, so that they do not all read the same one at a time.
  for (std::uint32_t step = 1; step < memory_.members(); ++step) {
    const std::uint32_t member = (self() + step) % memory_.members();
    const NodeRange slice = cut_.slice(range, member);
    if (slice.size() == 0) continue;
    std::byte* to = call_.recv + slice.begin;
    if (copies()) {
      copy_bytes(to, memory_.share(member, base_ + taken_) + (slice.begin - range.begin), slice.size());
    } else if (!read(member, NodeMemory::peek(memory_.lines(member).call.last[operations_ % 2].recv), slice, to)) {
      return false;
    }
  }
  return true;
}

bool ChunkedOperation::share_carried(const NodeRange& range) {
  const std::uint32_t sharer = sharer_of(taken_);
  if (sharer == self()) return next_supplied_ > taken_;
  if (!reached(sharer, &NodeFlags::supplied, taken_) || (!call_.folds() && !begun_alike(sharer))) return false;
  std::byte* to = call_.recv + range.begin;
  if (copies()) {
    copy_bytes(to, memory_.share(sharer, base_ + taken_), range.size());
  } else if (!read(sharer, NodeMemory::peek(memory_.lines(sharer).call.last[operations_ % 2].recv), range, to)) {
    return false;
  }
  if (call_.hands_out() && is_carrier(taken_)) reduced_up_to_ = range.end;
  return true;
}

}  // namespace nezha
