// SPDX-License-Identifier: BSD-3-Clause
/// A libfabric whose one provider has connected endpoints that carry nothing. Each takes as much of its queue of
/// completions as its sizes say, and the queues answer what a test says.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

#include "rail/ofi/library.h"

namespace nezha::test {

struct FakeMsgOfi {
  FakeMsgOfi() {
    for (fid* each : {&fabric_.fid, &domain_.fid, &queue_.fid, &events_.fid, &listener_.fid}) {
      each->context = this;
      each->ops = &every_;
    }
    fabric_.ops = &of_fabric_;
    domain_.ops = &of_domain_;
    queue_.ops = &of_queue_;
    events_.ops = &of_events_;
    listener_.ops = &of_listener_;
    listener_.cm = &connections_;
    fabric_attributes_.fabric = &fabric_;
    send_.size = receive_.size = 384;  // as its provider for verbs has it
    info_.fabric_attr = &fabric_attributes_;
    info_.domain_attr = &domain_attributes_;
    info_.ep_attr = &endpoint_attributes_;
    info_.tx_attr = &send_;
    info_.rx_attr = &receive_;
    make_library();
    make_objects();
    make_endpoints();
  }
  FakeMsgOfi(const FakeMsgOfi&) = delete;
  FakeMsgOfi& operator=(const FakeMsgOfi&) = delete;

  OfiLibrary::Info info() { return library.copy(&info_); }
  /// Somebody wants to be connected.
  void call() { calls.push_back(library.dupinfo(&info_)); }

  OfiLibrary library;
  std::deque<fi_info*> calls;
  std::size_t completions = 0, taken = 0;  ///< that the queue has room for, and that endpoints may need
  long wait_answer = 0, read_answer = -FI_EAGAIN;

 private:
  struct Endpoint {
    fid_ep object;  ///< first, since it is what is handed out
    FakeMsgOfi* fake;
    std::size_t size, receives;
  };

  template <typename Object>
  static FakeMsgOfi& of(Object* object) {
    return *static_cast<FakeMsgOfi*>(object->fid.context);
  }
  static Endpoint& endpoint(fid* object) { return *reinterpret_cast<Endpoint*>(object); }

  void make_library();
  void make_objects();
  void make_endpoints();

  fi_info info_{};
  fi_fabric_attr fabric_attributes_{};
  fi_domain_attr domain_attributes_{};
  fi_ep_attr endpoint_attributes_{};
  fi_tx_attr send_{};
  fi_rx_attr receive_{};
  fid_fabric fabric_{};
  fid_domain domain_{};
  fid_cq queue_{};
  fid_eq events_{};
  fid_pep listener_{};
  fi_ops every_{}, of_endpoint_{};
  fi_ops_fabric of_fabric_{};
  fi_ops_domain of_domain_{};
  fi_ops_cq of_queue_{};
  fi_ops_eq of_events_{};
  fi_ops_ep of_listener_{};
  fi_ops_cm connections_{};
  fi_ops_msg messages_{};
};

inline void FakeMsgOfi::make_library() {
  library.strerror = [](int) { return "a reason"; };
  library.fabric = [](fi_fabric_attr* attributes, fid_fabric** made, void*) { return *made = attributes->fabric, 0; };
  library.dupinfo = [](const fi_info* from) {
    auto* made = new fi_info(*from);
    made->tx_attr = new fi_tx_attr(*from->tx_attr);
    made->rx_attr = new fi_rx_attr(*from->rx_attr);
    made->dest_addr = nullptr;
    return made;
  };
  library.freeinfo = [](fi_info* info) {
    delete info->tx_attr;
    delete info->rx_attr;
    std::free(info->dest_addr);
    delete info;
  };
}

inline void FakeMsgOfi::make_objects() {
  every_.close = [](fid*) { return 0; };
  every_.bind = [](fid*, fid*, std::uint64_t) { return 0; };
  of_fabric_.domain = [](fid_fabric* fabric, fi_info*, fid_domain** made, void*) {
    return *made = &of(fabric).domain_, 0;
  };
  of_fabric_.eq_open = [](fid_fabric* fabric, fi_eq_attr*, fid_eq** made, void*) {
    return *made = &of(fabric).events_, 0;
  };
  of_fabric_.passive_ep = [](fid_fabric* fabric, fi_info*, fid_pep** made, void*) {
    return *made = &of(fabric).listener_, 0;
  };
  of_fabric_.trywait = [](fid_fabric* fabric, fid**, int) { return static_cast<int>(of(fabric).wait_answer); };
  of_domain_.cq_open = [](fid_domain* domain, fi_cq_attr* wanted, fid_cq** made, void*) {
    of(domain).completions = wanted->size;
    return *made = &of(domain).queue_, 0;
  };
  of_queue_.read = [](fid_cq* queue, void*, std::size_t) -> ssize_t { return of(queue).read_answer; };
  of_events_.read = [](fid_eq* events, std::uint32_t* event, void* to, std::size_t, std::uint64_t) -> ssize_t {
    FakeMsgOfi& self = of(events);
    if (self.calls.empty()) return -FI_EAGAIN;
    fi_eq_cm_entry entry{};
    entry.fid = &self.listener_.fid;
    entry.info = self.calls.front();
    self.calls.pop_front();
    *event = FI_CONNREQ;
    std::memcpy(to, &entry, sizeof entry);
    return sizeof entry;
  };
  connections_.listen = [](fid_pep*) { return 0; };
  connections_.getname = [](fid*, void*, std::size_t* size) { return *size = 16, 0; };
}

inline void FakeMsgOfi::make_endpoints() {
  of_domain_.endpoint = [](fid_domain* domain, fi_info* info, fid_ep** made, void*) {
    FakeMsgOfi& self = of(domain);
    auto* fresh = new Endpoint{{}, &self, info->tx_attr->size + info->rx_attr->size, info->rx_attr->size};
    fresh->object.fid.ops = &self.of_endpoint_;
    fresh->object.cm = &self.connections_;
    fresh->object.msg = &self.messages_;
    self.taken += fresh->size;
    return *made = &fresh->object, 0;
  };
  of_endpoint_.bind = every_.bind;
  of_endpoint_.control = [](fid* object, int, void*) {
    const FakeMsgOfi& self = *endpoint(object).fake;
    return self.taken <= self.completions ? 0 : -FI_ENOSPC;
  };
  of_endpoint_.close = [](fid* object) {
    endpoint(object).fake->taken -= endpoint(object).size;
    delete &endpoint(object);
    return 0;
  };
  connections_.connect = [](fid_ep*, const void*, const void*, std::size_t) { return 0; };
  connections_.accept = [](fid_ep*, const void*, std::size_t) { return 0; };
  messages_.recv = [](fid_ep* object, void*, std::size_t, void*, fi_addr_t, void*) -> ssize_t {
    return endpoint(&object->fid).receives-- != 0 ? 0 : -FI_EAGAIN;
  };
}

}  // namespace nezha::test
