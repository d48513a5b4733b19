// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/star.h"

#include <cstring>
#include <utility>

#include "alg/star_layout.h"

namespace nezha {
namespace {

/// Sums that others have are on their way here, unless they are lost.
constexpr Nanoseconds kOvertakenPatience = 200 * kMillisecond;
constexpr const char* kGone = "the service is gone";

TeamView view_of(std::span<Trunk* const> center, std::span<const int> neighbours, std::span<const int> numbers,
                 BufferPool* buffers) {
  TeamView view;
  view.size = 2;
  view.position = 0;
  view.trunks = center;
  view.neighbours = neighbours;
  view.numbers = numbers;
  view.buffers = buffers;
  return view;
}

}  // namespace

Star::Star(TeamId id, Trunk* trunk, const Member& member)
    : id_(id),
      member_(member),
      center_(trunk),
      view_(view_of(std::span(&center_, 1), kNeighbours, kNumbers, member.buffers)),
      operations_(view_, 0),
      dead_(trunk == nullptr),
      why_(dead_ ? kGone : "") {
  operations_.set_team(id_);
}

void Star::lost() {
  give_up(kGone);
  center_ = nullptr;
}

void Star::reset(const BlockPart& part, Nanoseconds now) {
  ++calls_;
  part_ = part;
  moved_ = false;
  moved_at_ = 0;
  began_ = now;
  took_ = 0;
  complete_ = false;
}

bool Star::reduces(nezha_type_t type, nezha_op_t op, std::size_t element) {
  return element_size(type) == element && find_kernel(type, op) != nullptr;
}

void Star::begin_whole(const Call& call, nezha_type_t type, nezha_op_t op, Nanoseconds now) {
  reset({}, now);
  if (!reduces(type, op, call.element)) give_up("this rank has no kernel for its type");
  if (dead_) return;
  Call through = call;
  through.chunk = 0;
  through.one_rail = true;
  through.star = {.members = static_cast<std::uint32_t>(member_.members),
                  .position = static_cast<std::uint32_t>(member_.position),
                  .type = type,
                  .op = op,
                  .whole = true};
  operations_.all_have_begun(operations_.next());  // the service keeps no contribution early, so none may use its window up
  number_ = operations_.start(through, AlgorithmChoice::ring);
  under_way_ = true;
}

void Star::begin(const Call& call, const BlockPart& part, nezha_type_t type, nezha_op_t op, Nanoseconds now) {
  reset(part, now);
  complete_ = part.from == part.to;
  if (dead_ || complete_ || !reduces(type, op, call.element)) return;
  Call through = call;
  through.part = part;
  through.chunk = member_.chunk;
  through.star = {.members = static_cast<std::uint32_t>(member_.members),
                  .position = static_cast<std::uint32_t>(member_.position),
                  .window = star_window(static_cast<std::size_t>(member_.members), member_.chunk),
                  .type = type,
                  .op = op};
  if (call.send == call.recv) {
    StarLayout layout;
    layout.cut(through);
    if (layout.bytes() != 0) packed_ = member_.buffers->take(layout.bytes());
    through.star.packed = packed_.data();
  }
  number_ = operations_.start(through, AlgorithmChoice::ring);
  under_way_ = true;
}

bool Star::settled(Nanoseconds now, bool overtaken) {
  if (!under_way_) return true;
  if (operations_.finished(number_)) {
    under_way_ = false;
    complete_ = true;
    took_ = now - began_;
    return true;
  }
  if (center_->lanes_up() == 0) return give_up("no lane to it is left"), true;
  if (!overtaken) return false;
  if (moved_at_ == 0 || std::exchange(moved_, false)) moved_at_ = now;
  if (now - moved_at_ < kOvertakenPatience) return false;
  give_up("other ranks do not wait for it any more");
  return true;
}

void Star::give_up(const std::string& why) {
  if (dead_) return;
  dead_ = true;
  under_way_ = false;
  why_ = why;
  const auto position = static_cast<std::uint32_t>(member_.position);
  operations_.fail({Failure::Why::gone, position, position});
  if (!complete_) packed_.give_back();  // no lane refers to it any more; sums that are whole may still be accepted
  center_->forget_team(id_);
}

void Star::accept(const Call& call) {
  brought_ = brought_ || part_.from != part_.to;
  if (call.send == call.recv && part_.from != part_.to) {
    const Layout layout(call.count, call.element, member_.members, member_.chunk, part_);
    const std::byte* from = packed_.data();
    for (int block = 0; block < member_.members; ++block) {
      if (layout.size(block) == 0) continue;
      std::memcpy(call.recv + layout.begin(block), from, layout.size(block));
      from += layout.size(block);
    }
  }
  packed_.give_back();
}

}  // namespace nezha
