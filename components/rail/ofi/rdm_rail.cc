// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/rdm_rail.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "rail/message/pages.h"
#include "rail/ofi/ofi_address.h"
#include "util/epoll.h"

namespace nezha {
namespace {

/// The kernel takes the descriptor into as many sets as there are around those of a kind: the kind's, that of all descriptors of a
/// transport, and that which a sleeping thread waits on.
bool nests(int fd) {
  constexpr int kSets = 3;
  std::array<Fd, kSets> sets;
  for (Fd& set : sets) {
    set = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!set || !add_to(set, fd)) return false;
    fd = set.get();
  }
  return true;
}

}  // namespace

/// A closed endpoint neither reads nor writes memory any more.
RdmRail::~RdmRail() {
  for (int i = 0; i < kLastLooks && !noted_.empty(); ++i) {
    look_after_streams();
    poll_completions(nullptr);
  }
  endpoint_.reset();
  streams_.clear();
}

Status RdmRail::open() {
  Status status = open_domain();
  if (status.ok()) status = timer_.open();
  if (!status.ok()) return status;
  fds_ = {timer_.fd()};
  if (status = open_completions(); status.ok()) status = open_endpoint();
  if (status.ok() && wakes_ && !nests(fds_.back())) {  // libfabric 2.1's ofi_rxm has several sets behind its own
    wakes_ = false;
    fds_.pop_back();
  }
  if (status.ok()) status = take_address(&endpoint_->fid);
  call_memory_ = make_pages(kCalls * kMostRdmCall);
  if (status.ok()) status = enroll({call_memory_.get(), kCalls * kMostRdmCall}, endpoint_.get(), call_region_);
  for (std::uint32_t slot = 0; slot < kCalls; ++slot) {
    call_operations_[slot].slot = slot;
    calls_to_post_.push_back(slot);
  }
  return status.ok() ? post_calls() : status;
}

/// With a descriptor where the provider has any: some refuse at once, some when they are asked for it.
Status RdmRail::open_completions() {
  wakes_ = OfiRail::open_completions(FI_WAIT_FD, completions_).ok() && add_descriptor(completions_.get(), fds_).ok();
  if (wakes_) return {};
  completions_.reset();
  return OfiRail::open_completions(FI_WAIT_NONE, completions_);
}

Status RdmRail::open_endpoint() {
  fi_av_attr wanted{};
  wanted.type = info_->domain_attr->av_type;
  fid_av* vector = nullptr;
  long result = fi_av_open(domain_.get(), &wanted, &vector, nullptr);
  if (result != 0) return library_.error("fi_av_open", result);
  vector_.reset(vector);
  addresses_ = std::make_unique<RdmAddresses>(library_, *vector);
  fid_ep* endpoint = nullptr;
  result = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr);
  if (result != 0) return library_.error("fi_endpoint", result);
  endpoint_.reset(endpoint);
  result = fi_ep_bind(endpoint, &vector->fid, 0);
  if (result == 0) result = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (result != 0) return library_.error("fi_ep_bind", result);
  bind_events();
  result = fi_enable(endpoint);
  return result == 0 ? Status{} : library_.error("fi_enable", result);
}

/// EFA's provider ends the process when something befalls an endpoint that has no queue to say so in.
void RdmRail::bind_events() {
  if (open_events(FI_WAIT_NONE, events_).ok() && fi_ep_bind(endpoint_.get(), &events_->fid, 0) != 0) events_.reset();
}

Status RdmRail::descriptors(Watch watch, std::vector<int>& fds) const {
  if (watch == Watch::rare) fds = fds_;
  return {};
}

/// Those that the provider has no room for are tried again.
Status RdmRail::post_calls() {
  while (!calls_to_post_.empty()) {
    const std::uint32_t slot = calls_to_post_.back();
    const std::span<std::byte> to = call(slot);
    const long result = fi_trecv(endpoint_.get(), to.data(), to.size(), descriptor_of(call_region_), FI_ADDR_UNSPEC, kCallTag, 0,
                                 &call_operations_[slot].own);
    if (result == -FI_EAGAIN) return {};
    if (result != 0) return library_.error("fi_trecv", result);
    calls_to_post_.pop_back();
  }
  return {};
}

Status RdmRail::add(std::span<const std::byte> remote, std::uint64_t other, RdmStream*& made) {
  std::shared_ptr<RdmPeer> peer;
  Status status = addresses_->find(remote, peer);
  std::uint64_t number = 0;
  while (status.ok() && (number == 0 || streams_.contains(number))) status = random_number(number);
  if (!status.ok()) return status;
  made = (streams_[number] = std::make_unique<RdmStream>(*this, number, std::move(peer), other)).get();
  return {};
}

Status RdmRail::connect(std::span<const std::byte> remote, std::unique_ptr<QueuePair>& made) {
  RdmStream* stream = nullptr;
  Status status = add(remote, 0, stream);
  if (status.ok()) made = std::make_unique<RdmPair>(*stream);
  return status;
}

bool RdmRail::poll(Watch, MessageArrivals& arrivals) {
  bool any = poll_completions(&arrivals);
  if (!any) poll_events();
  if (!trouble_.ok()) break_streams(std::exchange(trouble_, {}));
  any |= look_after_streams();
  if (!calls_to_post_.empty()) static_cast<void>(post_calls());
  timer_.awake(any);
  return any;
}

bool RdmRail::may_sleep(Watch) {
  if (soon_) return false;
  if (!wakes_ || !noted_.empty() || !calls_to_post_.empty()) timer_.arm();
  fid_t queue = &completions_->fid;
  const auto goes_on = [](const auto& each) { return !each.second->ended(); };
  return !wakes_ ||
         may_wait(fi_trywait(fabric_.get(), &queue, 1), std::any_of(streams_.begin(), streams_.end(), goes_on));
}

bool RdmRail::poll_completions(MessageArrivals* arrivals) {
  std::array<fi_cq_msg_entry, kAtOnce> entries;
  bool any = false;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      take_error();
    } else if (count <= 0) {
      note_queue(count);
      break;
    }
    for (ssize_t i = 0; i < count; ++i) take(entries[static_cast<std::size_t>(i)], arrivals);
    any = true;
  }
  return any;
}

void RdmRail::take(const fi_cq_msg_entry& done, MessageArrivals* arrivals) {
  const auto* operation = static_cast<const RdmOperation*>(done.op_context);
  if (operation == nullptr) return;
  const std::uint32_t slot = operation->slot;
  if (operation->stream == nullptr) {
    if (arrivals != nullptr) take_call(call(slot).first(std::min(done.len, kMostRdmCall)), *arrivals);
    calls_to_post_.push_back(slot);
  } else {
    operation->stream->completed(slot, done.len);
  }
}

void RdmRail::take_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_.get(), &error, 0) < 0) return;
  const auto* failed = static_cast<const RdmOperation*>(error.op_context);
  if (failed == nullptr) return;
  if (failed->stream == nullptr) return calls_to_post_.push_back(failed->slot);  // somebody called in too many words
  failed->stream->failed(failed->slot, library_.error((error.flags & FI_RECV) != 0 ? "receiving" : "sending", -error.err));
}

/// The endpoint is of no use after an error that is none of a single operation.
void RdmRail::poll_events() {
  std::uint32_t event = 0;
  std::array<std::byte, 256> entry;
  if (!events_ || fi_eq_read(events_.get(), &event, entry.data(), entry.size(), 0) != -FI_EAVAIL) return;
  fi_eq_err_entry error{};
  if (fi_eq_readerr(events_.get(), &error, 0) < 0) return;
  break_streams(library_.error("the endpoint", -error.err));
}

void RdmRail::break_streams(const Status& why) {
  for (const auto& [number, stream] : streams_) stream->broken(why);
}

/// From anybody: what cannot be is not answered.
void RdmRail::take_call(std::span<const std::byte> message, MessageArrivals& arrivals) {
  RdmCall call;
  if (!read_rdm_call(message, call).ok() || !fits(info_->addr_format, call.address, address_)) return;
  std::string from = ofi_address_text(info_->addr_format, call.address);
  RdmStream* stream = nullptr;
  if (!add(call.address, call.number, stream).ok()) return;
  arrivals.arrived(number_, std::make_unique<RdmPair>(*stream), std::move(from));
}

void RdmRail::note(RdmStream& stream) {
  soon_ = true;
  note_for_later(stream);
}

void RdmRail::note_for_later(RdmStream& stream) {
  if (!std::exchange(stream.listed, true)) noted_.push_back(&stream);
}

void RdmRail::leaves(RdmStream& stream) {
  note(stream);
  leaving_.push_back(&stream);
  if (leaving_.size() <= kMostLeaving) return;
  leaving_.front()->cancel();
  leaving_.erase(leaving_.begin());
}

bool RdmRail::look_after_streams() {
  soon_ = false;
  bool any = false;
  for (RdmStream* stream : std::exchange(noted_, {})) {
    stream->listed = false;
    any |= stream->look();
    if (stream->over())
      forget(*stream);
    else if (stream->restless())
      note_for_later(*stream);
  }
  return any;
}

void RdmRail::forget(RdmStream& stream) {
  std::erase(noted_, &stream);
  std::erase(leaving_, &stream);
  streams_.erase(stream.number());
}

}  // namespace nezha
