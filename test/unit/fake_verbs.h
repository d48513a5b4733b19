// SPDX-License-Identifier: BSD-3-Clause
/// A libibverbs with a device that is not there: what pairs are asked to become is recorded.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_place.h"
#include "util/fd.h"

namespace nezha::test {

/// What the library does to pairs. To be made ready to receive takes until it
/// is let.
class Pairs {
 public:
  ibv_qp* make() {
    auto* pair = new ibv_qp{};
    pair->qp_num = static_cast<std::uint32_t>(100 + ++asked_for_);
    return ++made_, pair;
  }
  void destroy(ibv_qp* pair) {
    delete pair;
    --made_;
  }
  int modify(const ibv_qp_attr& to) {
    stopped_ += to.qp_state == IBV_QPS_RESET;
    if (to.qp_state != IBV_QPS_RTR) return 0;
    std::unique_lock lock(mutex_);
    way_ = to.ah_attr;
    ++asked_;
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return let_; })) waited_for_ = true;
    return 0;
  }
  void let(bool on = true) {
    const std::lock_guard lock(mutex_);
    let_ = on;
    changed_.notify_all();
  }
  int made() const { return made_; }
  int stopped() const { return stopped_; }
  int times() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  bool waited_for() const { return waited_for_; }
  /// By which the last one that was made ready reaches the other side.
  ibv_ah_attr way() {
    const std::lock_guard lock(mutex_);
    return way_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int made_ = 0, asked_ = 0, asked_for_ = 0;
  ibv_ah_attr way_{};
  std::atomic<int> stopped_ = 0;
  bool let_ = false, waited_for_ = false;
};

inline Pairs* pairs = nullptr;

/// Receives that pairs share, where there are any, and what has completed.
struct FakeQueues {
  bool shares = false;
  int made = 0;                        ///< shared queues
  std::vector<std::uint64_t> posted;   ///< in shared queues, by request, in order
  std::vector<ibv_wc> completed;
};

inline FakeQueues queues;

/// A port of RoCE on the loopback's address.
class Device {
 public:
  Device() {
    verbs_.alloc_pd = [](ibv_context* context) { return new ibv_pd{.context = context, .handle = 0}; };
    verbs_.dealloc_pd = [](ibv_pd* domain) { return delete domain, 0; };
    verbs_.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return new ibv_mr{}; };
    verbs_.dereg_mr = [](ibv_mr* memory) { return delete memory, 0; };
    verbs_.create_comp_channel = [](ibv_context*) {
      auto* channel = new ibv_comp_channel{};
      channel->fd = eventfd(0, EFD_CLOEXEC);
      return channel;
    };
    verbs_.destroy_comp_channel = [](ibv_comp_channel* channel) { return close(channel->fd), delete channel, 0; };
    verbs_.create_cq = [](ibv_context* context, int entries, void*, ibv_comp_channel*, int) {
      auto* queue = new ibv_cq{};
      queue->context = context;
      queue->cqe = entries;
      return queue;
    };
    verbs_.resize_cq = [](ibv_cq* queue, int entries) {
      if (entries > longest) return EOPNOTSUPP;
      return queue->cqe = entries, 0;
    };
    verbs_.destroy_cq = [](ibv_cq* queue) { return delete queue, 0; };
    verbs_.create_srq = [](ibv_pd* domain, ibv_srq_init_attr*) {
      errno = EOPNOTSUPP;
      if (!queues.shares) return static_cast<ibv_srq*>(nullptr);
      auto* queue = new ibv_srq{};
      queue->context = domain->context;
      return ++queues.made, queue;
    };
    verbs_.destroy_srq = [](ibv_srq* queue) { return --queues.made, delete queue, 0; };
    context_.context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr* wanted, ibv_recv_wr**) {
      return queues.posted.push_back(wanted->wr_id), 0;
    };
    context_.context.ops.poll_cq = [](ibv_cq*, int most, ibv_wc* to) {
      int count = 0;
      for (; count < most && !queues.completed.empty(); ++count) {
        to[count] = queues.completed.front();
        queues.completed.erase(queues.completed.begin());
      }
      return count;
    };
    verbs_.wc_status_str = [](ibv_wc_status) { return "bad luck"; };
    verbs_.create_qp = [](ibv_pd*, ibv_qp_init_attr*) { return pairs->make(); };
    verbs_.destroy_qp = [](ibv_qp* pair) { return pairs->destroy(pair), 0; };
    verbs_.modify_qp = [](ibv_qp*, ibv_qp_attr* to, int) { return pairs->modify(*to); };
    verbs_.close_device = [](ibv_context* context) { return close(context->async_fd); };
    verbs_.get_async_event = [](ibv_context*, ibv_async_event*) { return -1; };
    verbs_.query_device = [](ibv_context*, ibv_device_attr* limits) { return limits->max_cqe = 1 << 16, 0; };
    verbs_.query_gid_table = [](ibv_context*, ibv_gid_entry* table, std::size_t, std::uint32_t, std::size_t) {
      for (std::size_t i = 0; i < table_of.size(); ++i) {
        table[i] = {};
        table[i].port_num = 1;
        table[i].gid_type = infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
        table[i].ndev_ifindex = if_nametoindex("lo");
        const auto gid = gid_of(table_of[i]);
        std::memcpy(table[i].gid.raw, gid.data(), gid.size());
      }
      return static_cast<ssize_t>(table_of.size());
    };
    context_.sz = sizeof context_;
    context_.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    context_.context.async_fd = ends[0];
    kernel_ = Fd(ends[1]);
    context_.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* port, std::size_t) {
      port->state = IBV_PORT_ACTIVE;
      port->link_layer = infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
      port->flags = flags;
      port->gid_tbl_len = static_cast<int>(table_of.size());
      port->active_mtu = IBV_MTU_1024;
      return 0;
    };
  }
  std::unique_ptr<VerbsDevice> open() {
    auto device = std::make_unique<VerbsDevice>(verbs_, &context_.context, "fake", std::uint8_t{1}, sysfs);
    const Status status = device->look();
    EXPECT_TRUE(status.ok()) << status.text();
    return device;
  }

  void take_away() { kernel_.reset(); }

  static constexpr VerbsPlace kHere{4, {127, 0, 0, 1}, 0};
  static inline bool infiniband = false;
  static inline std::uint8_t flags = 0;  ///< of the port
  static inline std::string sysfs = "/sys";
  static inline std::vector<VerbsPlace> table_of{kHere};  ///< of GIDs
  static inline int longest = 0;  ///< entries that a queue of completions can be given later

 private:
  Fd kernel_;
  VerbsLibrary verbs_;
  verbs_context context_{};
};

}  // namespace nezha::test
