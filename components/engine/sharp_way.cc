// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sharp_way.h"

#include <algorithm>
#include <utility>

#include "sharp/sharp_types.h"

namespace nezha {
namespace {

constexpr std::size_t kLeastBytes = 512 * 1024;  ///< vectors that are worth it
constexpr std::size_t kLeastRest = 4096;         ///< bytes that the rails carry in any case
constexpr std::size_t kMostBytes = 256 * 1024 * 1024;  ///< through it, since it takes as much memory
/// What a library may need once all members have begun: so long, and as long as it takes at 100 MB/s.
constexpr Nanoseconds kPatience = 2 * kSecond;
constexpr Nanoseconds kPatiencePerByte = 10;

}  // namespace

bool SharpWay::has(const nezha_call_t& call) const {
  const sharp_api::DataType type = sharp_type(call.type);
  const sharp_api::ReduceOp op = sharp_op(call.op);
  return type != sharp_api::kNoType && op != sharp_api::kNoOp && (types_ >> type & 1) != 0 && (ops_ >> op & 1) != 0;
}

bool SharpWay::suits(const nezha_call_t& call) const {
  return state_ != State::gone && !searches_.none() && call.count * call.element >= kLeastBytes &&
         kinds_.of(call.element, call.op) != AgreedKinds::Answer::not_all;
}

void SharpWay::opened(std::unique_ptr<SharpGroup> group, std::uint64_t types, std::uint64_t ops) {
  state_ = group ? State::open : State::gone;
  group_ = std::move(group);
  types_ = types;
  ops_ = ops;
  kinds_.forget();  // members did not know yet what the libraries have
}

std::unique_ptr<SharpGroup> SharpWay::leave() {
  state_ = State::gone;
  under_way_ = false;
  return std::move(group_);
}

std::size_t SharpWay::rest(const nezha_call_t& call) const {
  const std::size_t bytes = call.count * call.element;
  const std::size_t through =
      std::min<std::size_t>(bytes * searches_.share(bytes) / ShareSearches::kWhole, kMostBytes) / call.element;
  return std::max(call.count - through, (kLeastRest + call.element - 1) / call.element);
}

void SharpWay::begin(std::span<const std::byte> from, const nezha_call_t& call) {
  if (from.empty())
    trouble_ = {};
  else if (!has(call))
    trouble_ = {Code::absent, "the SHARP library does not have this rank's type"};
  else
    trouble_ = group_->begin(from, call.type, call.element, call.op);
  under_way_ = !from.empty() && trouble_.ok();
  bytes_ = from.size();
  carried_at_ = 0;
}

bool SharpWay::settled(Nanoseconds now, bool carried) {
  if (!under_way_) return true;
  if (group_->over()) {
    trouble_ = group_->ended();
    under_way_ = false;
    return true;
  }
  if (!carried) return false;
  if (carried_at_ == 0) carried_at_ = now;
  const Nanoseconds waited = now - carried_at_;
  if (waited < kPatience + static_cast<Nanoseconds>(bytes_) * kPatiencePerByte) return false;
  trouble_ = {Code::timed_out, "no sum of the SHARP library within " + std::to_string(waited / kMillisecond) +
                                   " ms since all ranks had begun the call"};
  under_way_ = false;
  return true;
}

std::span<std::uint64_t> SharpWay::confirmation(Nanoseconds took) {
  confirmation_ = {trouble_.ok() && !under_way_ ? 0U : 1U, ~static_cast<std::uint64_t>(took)};
  return confirmation_;
}

}  // namespace nezha
