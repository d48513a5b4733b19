// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_receives.h"

#include <algorithm>
#include <cerrno>

#include "rail/message/pages.h"
#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_request.h"

namespace nezha {
VerbsReceives::~VerbsReceives() {
  const VerbsLibrary& verbs = device_.verbs();
  if (queue_ != nullptr) verbs.destroy_srq(queue_);
  if (region_ != nullptr) verbs.dereg_mr(region_);
  device_.release(reserved_);
}

Status VerbsReceives::open(std::size_t size, std::uint32_t count) {
  const VerbsLibrary& verbs = device_.verbs();
  size_ = size;
  count_ = count;
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = count;
  wanted.attr.max_sge = 1;
  queue_ = verbs.create_srq(device_.domain(), &wanted);
  if (queue_ == nullptr) return verbs_error("a shared queue of receives", errno);
  memory_ = make_pages(size * count);
  if (Status status = device_.enroll({memory_.get(), size * count}, region_); !status.ok()) return status;
  if (Status status = device_.reserve(count); !status.ok()) return status;
  reserved_ = count;
  Status status;
  for (std::uint32_t i = 0; status.ok() && i < count; ++i) status = post(i);
  return status;
}

Status VerbsReceives::post(std::uint32_t index) {
  ibv_sge place = verbs_sge(slot(index), *region_);
  ibv_recv_wr wanted{verbs_request(number_, index | kSharedSlot), nullptr, &place, 1};
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_srq_recv(queue_, &wanted, &bad);
  return error == 0 ? Status{} : verbs_error("a shared receive", error);
}

void VerbsReceives::join(std::uint32_t queue_pair, std::uint32_t pair) { pairs_[queue_pair] = pair; }

void VerbsReceives::leave(std::uint32_t queue_pair, std::uint32_t lost) {
  pairs_.erase(queue_pair);
  lost_ += lost;
}

std::uint32_t VerbsReceives::pair_of(std::uint32_t queue_pair) const {
  const auto found = pairs_.find(queue_pair);
  return found == pairs_.end() ? 0 : found->second;
}

std::uint32_t VerbsReceives::share() const {
  return std::max<std::uint32_t>(count_ / std::max<std::uint32_t>(static_cast<std::uint32_t>(pairs_.size()), 1), 1);
}

}  // namespace nezha
