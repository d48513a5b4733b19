// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/msg_rail.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "rail/ofi/ofi_address.h"
#include "rail/ofi/msg_pair.h"

namespace nezha {
Status MsgRail::open() {
  Status status = open_domain();
  if (status.ok()) status = open_events(FI_WAIT_FD, events_);
  if (status.ok()) status = open_completions(FI_WAIT_FD, completions_);
  if (status.ok()) status = listen();
  return status;
}

Status MsgRail::listen() {
  fid_pep* listener = nullptr;
  long result = fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr);
  if (result != 0) return library_.error("fi_passive_ep", result);
  listener_.reset(listener);
  result = fi_pep_bind(listener, &events_->fid, 0);
  if (result != 0) return library_.error("fi_pep_bind", result);
  result = fi_listen(listener);
  if (result != 0) return library_.error("fi_listen", result);
  return take_address(&listener->fid);
}

Status MsgRail::descriptors(Watch watch, std::vector<int>& fds) const {
  return watch == Watch::all ? add_descriptor(completions_.get(), fds) : add_descriptor(events_.get(), fds);
}

Status MsgRail::connect(std::span<const std::byte> remote, std::unique_ptr<QueuePair>& made) {
  OfiLibrary::Info info = library_.copy(info_.get());
  if (info) std::free(std::exchange(info->dest_addr, std::malloc(remote.size())));
  if (!info || info->dest_addr == nullptr) return {Code::no_memory, "libfabric has no memory"};
  std::memcpy(info->dest_addr, remote.data(), remote.size());
  info->dest_addrlen = remote.size();
  made = std::make_unique<MsgPair>(*this, std::move(info), false);
  return {};
}

bool MsgRail::poll(Watch watch, MessageArrivals& arrivals) {
  const bool look = watch == Watch::rare || ++unlooked_ >= kEventsEvery;
  bool any = look && poll_events(arrivals);
  if (watch == Watch::all || !shut_down_.empty()) any |= poll_completions();
  tell_shut_down();
  if (!trouble_.ok()) break_all(std::exchange(trouble_, {}));
  return any;
}

bool MsgRail::may_sleep(Watch watch) {
  unlooked_ = kEventsEvery;
  std::array<fid_t, 2> queues = {&events_->fid, &completions_->fid};
  return may_wait(fi_trywait(fabric_.get(), queues.data(), watch == Watch::all ? 2 : 1), !pairs_.empty());
}

bool MsgRail::poll_events(MessageArrivals& arrivals) {
  unlooked_ = 0;
  bool any = false;
  for (int i = 0; i < kAtOnce; ++i) {
    std::uint32_t event = 0;
    std::array<std::byte, sizeof(fi_eq_cm_entry) + 256> space;
    const ssize_t size = fi_eq_read(events_.get(), &event, space.data(), space.size(), 0);
    if (size == -FI_EAVAIL) {
      take_event_error();
    } else if (size < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) {
      break;
    } else {
      fi_eq_cm_entry entry;
      std::memcpy(&entry, space.data(), sizeof entry);
      take_event(event, entry, arrivals);
    }
    any = true;
  }
  return any;
}

MsgPair* MsgRail::pair_of(fid_t endpoint) const {
  const auto found = pairs_.find(endpoint);
  return found == pairs_.end() ? nullptr : found->second;
}

void MsgRail::take_event(std::uint32_t event, fi_eq_cm_entry& entry, MessageArrivals& arrivals) {
  if (event == FI_CONNREQ) {
    OfiLibrary::Info info(entry.info, OfiLibrary::FreeInfo{&library_});
    std::string from = ofi_address_text(info->addr_format, {static_cast<const std::byte*>(info->dest_addr), info->dest_addrlen});
    arrivals.arrived(number_, std::make_unique<MsgPair>(*this, std::move(info), true), std::move(from));
  } else if (event == FI_CONNECTED) {
    if (MsgPair* pair = pair_of(entry.fid)) pair->connected();
  } else if (event == FI_SHUTDOWN) {
    shut_down_.push_back(entry.fid);
  }
}

void MsgRail::take_event_error() {
  fi_eq_err_entry error{};
  if (fi_eq_readerr(events_.get(), &error, 0) < 0) return;
  if (MsgPair* pair = pair_of(error.fid)) pair->broken(library_.error("connecting", -error.err));
}

bool MsgRail::poll_completions() {
  std::array<fi_cq_msg_entry, kAtOnce> entries;
  bool any = false;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      take_error();
    } else if (count <= 0) {
      note_queue(count);
      retired_.clear();  // nothing in the queue refers to them
      break;
    }
    for (ssize_t i = 0; i < count; ++i) {
      const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
      const auto* done = static_cast<const MsgOperation*>(entry.op_context);
      if (done != nullptr && done->pair != nullptr) done->pair->completed(done->slot, entry.flags, entry.len);
    }
    any = true;
  }
  return any;
}

void MsgRail::take_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_.get(), &error, 0) < 0) return;
  const auto* failed = static_cast<const MsgOperation*>(error.op_context);
  if (failed == nullptr || failed->pair == nullptr) return;
  // What was posted when the connection ended: the event that says so may come later.
  if (error.err == FI_ECANCELED) return shut_down_.push_back(failed->pair->endpoint());
  failed->pair->broken(library_.error((error.flags & FI_RECV) != 0 ? "receiving" : "sending", -error.err));
}

/// Of these endpoints. Each may take others away.
void MsgRail::break_pairs(const std::vector<fid_t>& endpoints, const Status& why) {
  for (const fid_t endpoint : endpoints)
    if (MsgPair* pair = pair_of(endpoint)) pair->broken(why);
}

void MsgRail::break_all(const Status& why) {
  std::vector<fid_t> endpoints;
  for (const auto& [endpoint, pair] : pairs_) endpoints.push_back(endpoint);
  break_pairs(endpoints, why);
}

void MsgRail::tell_shut_down() {
  if (shut_down_.empty()) return;
  break_pairs(std::exchange(shut_down_, {}), {Code::closed, "the other side closed the connection"});
}

}  // namespace nezha
