// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/star.h"

#include <cstring>
#include <new>
#include <utility>

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

/// Bytes of the part from `begin` on.
void copy(const StarLayout& layout, std::size_t begin, const std::byte* from, std::byte* to) {
  for (std::size_t number = 0; number < layout.chunks(); ++number)
    if (const StarLayout::Chunk chunk = layout.chunk(number); chunk.begin >= begin)
      std::memcpy(to + chunk.begin, from + chunk.begin, chunk.size);
}

}  // namespace

Call Unsummed::again(const Call& call) const {
  Call again = call;
  again.part = part;
  if (kept) again.send = again.recv = kept.data();
  return again;
}

void Unsummed::deliver(const Call& call) const {
  if (kept) copy(layout, final, kept.data(), call.recv);
}

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

void Star::begin_whole(const Call& call, Nanoseconds now) {
  reset({}, now);
  if (!reduces(call.star.type, call.star.op, call.element)) give_up("this rank has no kernel for its type");
  if (dead_) return;
  Call through = call;
  through.chunk = 0;
  through.one_rail = true;
  through.star = {.members = static_cast<std::uint32_t>(member_.members),
                  .position = static_cast<std::uint32_t>(member_.position),
                  .type = call.star.type,
                  .op = call.star.op,
                  .whole = true};
  operations_.all_have_begun(operations_.next());  // the service keeps no contribution early, so none may use its window up
  number_ = operations_.start(through, AlgorithmChoice::ring);
  under_way_ = true;
}

Call Star::through(const Call& call) {
  Call through = call;
  through.part = part_;
  through.chunk = member_.chunk;
  through.star = {.members = static_cast<std::uint32_t>(member_.members),
                  .position = static_cast<std::uint32_t>(member_.position),
                  .window = star_window(static_cast<std::size_t>(member_.members), member_.chunk * member_.groups),
                  .type = call.star.type,
                  .op = call.star.op,
                  .segment = call.star.segment,
                  .progress = &progress_};
  return through;
}

void Star::begin(const Call& call, const BlockPart& part, Nanoseconds now, std::size_t ready) {
  reset(part, now);
  progress_ = {.ready = ready};
  complete_ = part.from == part.to;
  if (dead_ || complete_ || !reduces(call.star.type, call.star.op, call.element)) return;
  if (call.send == call.recv) {
    try {
      kept_ = member_.buffers->take(call.bytes());
    } catch (const std::bad_alloc&) {
      return give_up("the system gives no memory to keep contributions in");
    }
    progress_.kept = kept_.data();
  }
  number_ = operations_.start(through(call), AlgorithmChoice::ring);
  under_way_ = true;
}

void Star::supply(std::size_t ready) {
  if (progress_.ready >= ready) return;
  progress_.ready = ready;
  if (Operation* const operation = under_way_ ? operations_.find(number_) : nullptr) operation->algorithm().wake();
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
  center_->forget_team(id_);
}

void Star::accept() {
  brought_ = brought_ || part_.from != part_.to;
  kept_.give_back();
}

/// Contributions that have not gone lie in the vector still: if none has gone, no sum can have come over them.
Unsummed Star::take_back(const Call& call) {
  Unsummed rest;
  rest.part = part_;
  rest.final = progress_.final;
  rest.layout.cut(through(call));
  const bool none_sent = rest.layout.chunks() == 0 || progress_.sent <= rest.layout.chunk(0).begin;
  if (call.send != call.recv || none_sent) return rest;
  copy(rest.layout, progress_.sent, call.recv, kept_.data());
  rest.kept = std::move(kept_);
  return rest;
}

}  // namespace nezha
