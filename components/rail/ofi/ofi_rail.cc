// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/ofi_rail.h"

#include <rdma/fi_cm.h>

#include <array>
#include <string>
#include <utility>

#include "rail/rail_address.h"

namespace nezha {

OfiRail::OfiRail(const OfiLibrary& library, std::size_t number, OfiLibrary::Info info)
    : library_(library), number_(number), info_(std::move(info)) {}

Status OfiRail::open_domain() {
  fid_fabric* fabric = nullptr;
  long result = library_.fabric(info_->fabric_attr, &fabric, nullptr);
  if (result != 0) return library_.error("fi_fabric", result);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  result = fi_domain(fabric, info_.get(), &domain, nullptr);
  if (result != 0) return library_.error("fi_domain", result);
  domain_.reset(domain);
  return {};
}

Status OfiRail::open_events(fi_wait_obj wait, Fid<fid_eq>& queue) const {
  fi_eq_attr wanted{};
  wanted.wait_obj = wait;
  fid_eq* made = nullptr;
  const long result = fi_eq_open(fabric_.get(), &wanted, &made, nullptr);
  if (result != 0) return library_.error("fi_eq_open", result);
  queue.reset(made);
  return {};
}

Status OfiRail::open_completions(fi_wait_obj wait, Fid<fid_cq>& queue) const {
  fi_cq_attr wanted{};
  wanted.size = kCompletions;
  wanted.format = FI_CQ_FORMAT_MSG;
  wanted.wait_obj = wait;
  fid_cq* made = nullptr;
  const long result = fi_cq_open(domain_.get(), &wanted, &made, nullptr);
  if (result != 0) return library_.error("fi_cq_open", result);
  queue.reset(made);
  return {};
}

Status OfiRail::take_address(fid_t of) {
  std::array<std::byte, kMaxRailPlace> name;
  std::size_t size = name.size();
  const long result = fi_getname(of, name.data(), &size);
  if (result == -FI_ETOOSMALL) return {Code::io, "an address of " + std::to_string(size) + " bytes is too long to be published"};
  if (result != 0) return library_.error("fi_getname", result);
  address_.assign(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(size));
  return {};
}

bool OfiRail::may_wait(long answer, bool pairs) {
  if (answer == 0 || answer == -FI_EAGAIN) return answer == 0;
  if (pairs) trouble_ = library_.error("fi_trywait", answer);
  return !pairs;
}

void OfiRail::note_queue(long answer) {
  if (answer < 0 && answer != -FI_EAGAIN) trouble_ = library_.error("fi_cq_read", answer);
}

Status OfiRail::enroll(std::span<std::byte> memory, fid_ep* endpoint, Fid<fid_mr>& made) const {
  const int mode = info_->domain_attr->mr_mode;
  if ((mode & FI_MR_LOCAL) == 0) return {};
  fid_mr* region = nullptr;
  long result = fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_SEND | FI_RECV, 0, 0, 0, &region, nullptr);
  if (result != 0) return library_.error("fi_mr_reg", result);
  made.reset(region);
  if ((mode & FI_MR_ENDPOINT) == 0) return {};
  result = fi_mr_bind(region, &endpoint->fid, 0);
  if (result == 0) result = fi_mr_enable(region);
  return result == 0 ? Status{} : library_.error("fi_mr_bind", result);
}

}  // namespace nezha
