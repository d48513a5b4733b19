// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_device.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace nezha {
namespace {

constexpr int kFirstEntries = 4096;  ///< of the queue of completions, 85 lanes or more: some devices cannot lengthen it

constexpr std::size_t kMostRegistered = std::size_t{1} << 30;  ///< bytes of the application's memory

bool nonblocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

}  // namespace

VerbsDevice::VerbsDevice(const VerbsLibrary& verbs, ibv_context* context, std::string name, std::uint8_t port,
                         std::string sysfs)
    : verbs_(verbs), context_(context), name_(std::move(name)), port_(port), sysfs_(std::move(sysfs)), regions_(verbs, kMostRegistered) {}

VerbsDevice::~VerbsDevice() {
  receives_.reset();
  if (completions_ != nullptr) verbs_.destroy_cq(completions_);
  if (channel_ != nullptr) verbs_.destroy_comp_channel(channel_);
  regions_.clear();
  if (domain_ != nullptr) verbs_.dealloc_pd(domain_);
  verbs_.close_device(context_);
}

Status VerbsDevice::activate() {
  if (!nonblocking(event_fd())) return verbs_error("its events", errno);
  domain_ = verbs_.alloc_pd(context_);
  if (domain_ == nullptr) return verbs_error("a protection domain", errno);
  channel_ = verbs_.create_comp_channel(context_);
  if (channel_ == nullptr || !nonblocking(channel_->fd)) return verbs_error("a channel of completions", errno);
  ibv_device_attr limits{};
  const int most = verbs_.query_device(context_, &limits) == 0 ? limits.max_cqe : kFirstEntries;
  completions_ = verbs_.create_cq(context_, std::min(kFirstEntries, most), nullptr, channel_, 0);
  return completions_ != nullptr ? Status{} : verbs_error("a queue of completions", errno);
}

Status VerbsDevice::enroll(std::span<std::byte> memory, ibv_mr*& region) {
  const auto registered = [&] { return verbs_.reg_mr(domain_, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE); };
  region = registered();
  if (region == nullptr && regions_.clear()) region = registered();
  return region != nullptr ? Status{} : verbs_error("memory cannot be registered (ulimit -l)", errno);
}

std::shared_ptr<VerbsReceives> VerbsDevice::receives(const VerbsOptions& options) {
  if (!shares_ || (receives_ != nullptr && !receives_->worn())) return receives_;
  std::erase_if(all_receives_, [](const auto& each) { return each.expired(); });
  receives_ = std::make_shared<VerbsReceives>(*this, ++last_receives_);
  shares_ = receives_->open(options.slot, options.shared_receives).ok();
  if (shares_)
    all_receives_.push_back(receives_);
  else
    receives_.reset();
  return receives_;
}

VerbsReceives* VerbsDevice::find_receives(std::uint32_t number) const {
  for (const auto& each : all_receives_)
    if (const auto found = each.lock(); found != nullptr && found->number() == number) return found.get();
  return nullptr;
}

Status VerbsDevice::reserve(std::uint32_t requests) {
  const std::uint32_t wanted = reserved_ + requests;
  const auto there = static_cast<std::uint32_t>(completions_->cqe);
  if (wanted > there) {
    const std::uint32_t ample = std::max(wanted, 2 * there);
    int error = verbs_.resize_cq(completions_, static_cast<int>(ample));
    if (error != 0 && ample != wanted) error = verbs_.resize_cq(completions_, static_cast<int>(wanted));
    if (error != 0) return verbs_error("a longer queue of completions", error);
  }
  reserved_ = wanted;
  return {};
}

int VerbsDevice::poll(ibv_wc* to, int most) {
  int count = 0;
  if (std::exchange(found_, false)) to[count++] = found_one_;
  const int more = ibv_poll_cq(completions_, most - count, to + count);
  seen_ = seen_ || more > 0;
  return count + std::max(more, 0);
}

bool VerbsDevice::arm() {
  if (found_) return false;
  ibv_cq* queue = nullptr;
  void* unused = nullptr;
  if (armed_ && seen_ && verbs_.get_cq_event(channel_, &queue, &unused) == 0) {
    verbs_.ack_cq_events(queue, 1);
    armed_ = seen_ = false;
  }
  if (!armed_) armed_ = ibv_req_notify_cq(completions_, 0) == 0;
  // What came before the request wakes nobody.
  found_ = ibv_poll_cq(completions_, 1, &found_one_) > 0;
  seen_ = seen_ || found_;
  return !found_;
}

bool VerbsDevice::next_event(std::string& text, bool& ends) {
  ibv_async_event event{};
  if (verbs_.get_async_event(context_, &event) != 0) return false;
  text = verbs_.event_type_str(event.event_type);
  const bool ours = event.event_type != IBV_EVENT_PORT_ERR || event.element.port_num == port_;
  // An error of one pair also ends its requests, with a completion that tells more.
  ends = ours && (event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_DEVICE_FATAL ||
                  event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_SRQ_ERR);
  if (event.event_type == IBV_EVENT_SRQ_ERR) receives_.reset();
  verbs_.ack_async_event(&event);
  return true;
}

std::vector<std::unique_ptr<VerbsDevice>> open_verbs_devices(const VerbsLibrary& verbs) {
  std::vector<std::unique_ptr<VerbsDevice>> found;
  int count = 0;
  ibv_device** list = verbs.get_device_list(&count);
  for (int i = 0; list != nullptr && i < count; ++i) {
    std::uint8_t ports = 1;
    for (std::uint8_t port = 1; port <= ports; ++port) {
      ibv_context* context = verbs.open_device(list[i]);
      if (context == nullptr) break;
      ibv_device_attr attributes{};
      if (verbs.query_device(context, &attributes) == 0) ports = attributes.phys_port_cnt;
      found.push_back(std::make_unique<VerbsDevice>(verbs, context, verbs.get_device_name(list[i]), port));
    }
  }
  if (list != nullptr) verbs.free_device_list(list);
  return found;
}

}  // namespace nezha
