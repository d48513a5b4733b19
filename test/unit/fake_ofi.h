// SPDX-License-Identifier: BSD-3-Clause
/// A libfabric whose one provider does what a test says: an endpoint without connections that sends nowhere, receives what the test
/// delivers, and completes what and when the test wants. It has no descriptor to wait for, and wants memory to be registered.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "rail/ofi/library.h"

namespace nezha::test {

struct FakeOfi {
  struct Receive {
    std::byte* to;
    std::size_t size;
    fi_addr_t from;
    std::uint64_t tag;
    void* context;
  };
  struct Sent {
    std::vector<std::byte> bytes;
    std::uint64_t tag;
    void* context;  ///< null: copied
  };
  using Address = std::array<std::byte, 16>;

  FakeOfi() {
    info_.fabric_attr = &fabric_attributes_;
    info_.domain_attr = &domain_attributes;
    info_.ep_attr = &endpoint_attributes;
    info_.tx_attr = &send_attributes;
    info_.caps = FI_TAGGED | FI_DIRECTED_RECV;
    info_.addr_format = FI_ADDR_PSMX2;
    domain_attributes.mr_mode = FI_MR_LOCAL;
    endpoint_attributes.max_msg_size = 1 << 20;
    send_attributes.inject_size = 64;
    library.strerror = [](int) { return "a reason"; };
    library.freeinfo = [](fi_info*) {};
    library.fabric = [](fi_fabric_attr* attributes, fid_fabric** made, void*) {
      *made = attributes->fabric;
      return 0;
    };
    fabric_attributes_.fabric = &fabric_;
    make_objects();
    make_operations();
  }
  FakeOfi(const FakeOfi&) = delete;
  FakeOfi& operator=(const FakeOfi&) = delete;

  OfiLibrary::Info info() { return {&info_, OfiLibrary::FreeInfo{&library}}; }
  static Address address(std::uint8_t number) {
    Address made{};
    made[0] = std::byte{number};
    return made;
  }

  /// Into the first receive of that tag. False: none is posted.
  bool deliver(std::uint64_t tag, std::span<const std::byte> message) {
    const auto found = std::find_if(receives.begin(), receives.end(), [&](const Receive& each) { return each.tag == tag; });
    if (found == receives.end()) return false;
    std::copy_n(message.begin(), std::min(message.size(), found->size), found->to);
    if (message.size() > found->size)
      fail(found->context, FI_ETRUNC, FI_RECV);
    else
      done.push_back({found->context, FI_TAGGED | FI_RECV, message.size()});
    receives.erase(found);
    return true;
  }
  void complete(const Sent& message) { done.push_back({message.context, FI_TAGGED | FI_SEND, 0}); }
  void fail(void* context, int error, std::uint64_t flags) {
    fi_cq_err_entry& entry = errors.emplace_back();
    entry.op_context = context;
    entry.err = error;
    entry.flags = flags;
  }

  OfiLibrary library;
  fi_domain_attr domain_attributes{};
  fi_ep_attr endpoint_attributes{};
  fi_tx_attr send_attributes{};
  std::deque<Receive> receives;
  std::vector<Sent> sent;
  std::deque<fi_cq_msg_entry> done;
  std::deque<fi_cq_err_entry> errors;
  long receive_answer = 0, send_answer = 0;  ///< what posting them answers
  long read_answer = -FI_EAGAIN;             ///< of a queue of completions that has none
  std::deque<int> mishaps;  ///< of the endpoint as a whole
  bool has_events = true;   ///< a queue that says so can be bound to it
  bool cancels = true;      ///< receives that are taken back complete at once
  int regions = 0, addresses = 0;
  std::vector<std::span<const std::byte>> registered;  ///< what ever was

 private:
  template <typename Object>
  static FakeOfi& of(Object* object) { return *static_cast<FakeOfi*>(object->fid.context); }
  static FakeOfi& of(fid* object) { return *static_cast<FakeOfi*>(object->context); }

  void make_objects() {
    for (fid* each : {&fabric_.fid, &domain_.fid, &queue_.fid, &events_.fid, &vector_.fid, &endpoint_.fid}) {
      each->context = this;
      each->ops = &every_;
    }
    fabric_.ops = &of_fabric_;
    domain_.ops = &of_domain_;
    domain_.mr = &of_memory_;
    queue_.ops = &of_queue_;
    events_.ops = &of_events_;
    vector_.ops = &of_vector_;
    endpoint_.ops = &of_endpoint_;
    endpoint_.cm = &of_name_;
    endpoint_.tagged = &of_tagged_;
  }
  void make_operations();

  fi_info info_{};
  fi_fabric_attr fabric_attributes_{};
  fid_fabric fabric_{};
  fid_domain domain_{};
  fid_cq queue_{};
  fid_eq events_{};
  fid_av vector_{};
  fid_ep endpoint_{};
  fi_ops every_{}, region_{};
  fi_ops_fabric of_fabric_{};
  fi_ops_domain of_domain_{};
  fi_ops_mr of_memory_{};
  fi_ops_cq of_queue_{};
  fi_ops_eq of_events_{};
  fi_ops_av of_vector_{};
  fi_ops_ep of_endpoint_{};
  fi_ops_cm of_name_{};
  fi_ops_tagged of_tagged_{};
};

inline void FakeOfi::make_operations() {
  every_.close = [](fid*) { return 0; };
  every_.bind = [](fid* object, fid* to, std::uint64_t) {
    return to == &of(object).events_.fid && !of(object).has_events ? -FI_ENOSYS : 0;
  };
  every_.control = [](fid*, int command, void*) { return command == FI_ENABLE ? 0 : -FI_ENOSYS; };
  of_fabric_.domain = [](fid_fabric* fabric, fi_info*, fid_domain** made, void*) { return *made = &of(fabric).domain_, 0; };
  of_fabric_.eq_open = [](fid_fabric* fabric, fi_eq_attr*, fid_eq** made, void*) { return *made = &of(fabric).events_, 0; };
  of_events_.read = [](fid_eq* events, std::uint32_t*, void*, std::size_t, std::uint64_t) -> ssize_t {
    return of(events).mishaps.empty() ? -FI_EAGAIN : -FI_EAVAIL;
  };
  of_events_.readerr = [](fid_eq* events, fi_eq_err_entry* to, std::uint64_t) -> ssize_t {
    to->err = of(events).mishaps.front();
    of(events).mishaps.pop_front();
    return 1;
  };
  of_domain_.cq_open = [](fid_domain* domain, fi_cq_attr* wanted, fid_cq** made, void*) {
    *made = &of(domain).queue_;
    return wanted->wait_obj == FI_WAIT_NONE ? 0 : -FI_ENOSYS;
  };
  of_domain_.av_open = [](fid_domain* domain, fi_av_attr*, fid_av** made, void*) { return *made = &of(domain).vector_, 0; };
  of_domain_.endpoint = [](fid_domain* domain, fi_info*, fid_ep** made, void*) { return *made = &of(domain).endpoint_, 0; };
  region_.close = [](fid* region) {
    --of(region).regions;
    delete reinterpret_cast<fid_mr*>(region);
    return 0;
  };
  of_memory_.reg = [](fid* domain, const void* memory, std::size_t size, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, fid_mr** made,
                      void*) {
    FakeOfi& self = of(domain);
    *made = new fid_mr{};
    (*made)->fid.context = &self;
    (*made)->fid.ops = &self.region_;
    (*made)->mem_desc = &self;
    ++self.regions;
    self.registered.push_back({static_cast<const std::byte*>(memory), size});
    return 0;
  };
  of_queue_.read = [](fid_cq* queue, void* to, std::size_t most) -> ssize_t {
    FakeOfi& self = of(queue);
    if (!self.errors.empty()) return -FI_EAVAIL;
    const std::size_t count = std::min(most, self.done.size());
    std::copy_n(self.done.begin(), count, static_cast<fi_cq_msg_entry*>(to));
    self.done.erase(self.done.begin(), self.done.begin() + static_cast<std::ptrdiff_t>(count));
    return count == 0 ? self.read_answer : static_cast<ssize_t>(count);
  };
  of_queue_.readerr = [](fid_cq* queue, fi_cq_err_entry* to, std::uint64_t) -> ssize_t {
    *to = of(queue).errors.front();
    of(queue).errors.pop_front();
    return 1;
  };
  of_vector_.insert = [](fid_av* vector, const void* address, std::size_t, fi_addr_t* made, std::uint64_t, void*) {
    ++of(vector).addresses;
    *made = std::to_integer<fi_addr_t>(*static_cast<const std::byte*>(address));
    return 1;
  };
  of_vector_.remove = [](fid_av* vector, fi_addr_t*, std::size_t, std::uint64_t) { return --of(vector).addresses, 0; };
  of_name_.getname = [](fid*, void* to, std::size_t* size) {
    const Address own = address(1);
    std::memcpy(to, own.data(), own.size());
    return *size = own.size(), 0;
  };
  of_endpoint_.size = sizeof of_endpoint_;
  of_endpoint_.cancel = [](fid* endpoint, void* context) -> ssize_t {
    FakeOfi& self = of(endpoint);
    const auto found = std::find_if(self.receives.begin(), self.receives.end(), [&](const Receive& each) { return each.context == context; });
    if (found == self.receives.end() || !self.cancels) return -FI_ENOENT;
    self.receives.erase(found);
    self.fail(context, FI_ECANCELED, FI_RECV);
    return 0;
  };
  of_tagged_.recv = [](fid_ep* endpoint, void* to, std::size_t size, void*, fi_addr_t from, std::uint64_t tag, std::uint64_t,
                       void* context) -> ssize_t {
    FakeOfi& self = of(endpoint);
    if (self.receive_answer == 0) self.receives.push_back({static_cast<std::byte*>(to), size, from, tag, context});
    return self.receive_answer;
  };
  of_tagged_.send = [](fid_ep* endpoint, const void* from, std::size_t size, void*, fi_addr_t, std::uint64_t tag,
                       void* context) -> ssize_t {
    FakeOfi& self = of(endpoint);
    const auto* bytes = static_cast<const std::byte*>(from);
    if (self.send_answer == 0) self.sent.push_back({{bytes, bytes + size}, tag, context});
    return self.send_answer;
  };
  of_tagged_.inject = [](fid_ep* endpoint, const void* from, std::size_t size, fi_addr_t to, std::uint64_t tag) -> ssize_t {
    return endpoint->tagged->send(endpoint, from, size, nullptr, to, tag, nullptr);
  };
}

}  // namespace nezha::test
