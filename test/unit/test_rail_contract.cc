// SPDX-License-Identifier: BSD-3-Clause
/// The contract, kept by TCP, by rails over whole messages, and by the simulation. A kind that this machine may not have says so
/// in a program of its own.
#include "rail_contract.h"

#include "btl_pair_of_hosts.h"
#include "message_pair.h"
#include "rail/sim/queue_kind.h"
#include "rail/sim/transport.h"

namespace nezha::test {
namespace {

/// Progress of those that are there.
template <typename... Sides>
bool progress(Sides&... sides) {
  return ((sides.transport ? sides.transport->progress(Watch::all) : false) | ...);
}

struct TcpWorld final : RailWorld {
  TcpWorld() : RailWorld(first, second, {.most_queued = 8 * 1024 * 1024}) { a.known = b.self, b.known = a.self; }
  Nanoseconds now() const override { return clock.now(); }
  bool step() override { return progress(a, b); }
  bool step_a() override { return progress(a); }
  bool rest() override {
    poll(nullptr, 0, 1);
    return true;
  }

  HandClock clock;
  Side first{11, clock, {}, 1}, second{22, clock, {}, 1};
};

struct MessageWorld : RailWorld {
  MessageWorld() : RailWorld(first, second, {.most_queued = 4 * 1024 * 1024}) {
    fabric.refuse_every = 5;
    for (Side* side : {&a, &b})
      side->transport = make_message_transport(std::make_unique<FakeKind>(fabric, 1), options, clock,
                                               Log(Side::write_line, side, 2), *side, side->self, &side->why);
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const override { return clock.now(); }
  bool step() override { return progress(a, b); }
  bool step_a() override { return progress(a); }
  bool rest() override {
    clock.advance(10 * kMillisecond);  // nothing else will happen, but for deadlines
    return clock.now() < 30 * kSecond;
  }

  HandClock clock;
  MessageOptions options;
  FakeFabric fabric;
  Side first{11}, second{22};
};

/// Whose lanes receive into the same memory.
struct SharingWorld final : MessageWorld {
  SharingWorld() { fabric.shared = 12; }
};

struct BtlWorld final : RailWorld {
  BtlWorld() : RailWorld(first, second, {.wakes = false, .most_queued = 4 * 1024 * 1024}) {
    at_a.other = &at_b, at_b.other = &at_a;
    for (Side* side : {&a, &b}) {
      FakeHost& host = side == &a ? at_a : at_b;
      host.refuse_every = 7;
      side->transport = make_message_transport(make_btl_kind(host, side == &a ? 0 : 1), options, clock,
                                               Log(Side::write_line, side, 2), *side, side->self, &side->why);
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const override { return clock.now(); }
  bool step() override {
    const bool moved = at_a.deliver() | at_b.deliver();
    return progress(a, b) || moved;
  }
  bool step_a() override {
    const bool moved = at_a.deliver() | at_b.deliver();
    return progress(a) || moved;
  }
  bool rest() override {
    clock.advance(10 * kMillisecond);
    return clock.now() < 60 * kSecond;
  }

  HandClock clock;
  MessageOptions options = btl_options(0);
  FakeHost at_a, at_b;
  Side first{11}, second{22};
};

struct SimWorld final : RailWorld {
  SimWorld() : RailWorld(first, second, {.authenticates = false, .wakes = false, .most_queued = 1024 * 1024}) {
    for (SimPort* port : {&port_a, &port_b}) {
      Side& side = port == &port_a ? a : b;
      side.transport = std::make_unique<SimTransport>(network, network, side.self, std::vector{port}, side, [] {});
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const override { return network.now(); }
  bool step() override { return progress(a, b); }
  bool step_a() override { return progress(a); }
  bool rest() override { return network.step(); }

  SimNetwork network{{.stall = 0.1, .stall_time = kMillisecond, .short_write = 0.2, .short_read = 0.2}, 7};
  SimPort port_a{network, {}}, port_b{network, {}};
  Side first{11}, second{22};
};

/// Rails over messages on simulated NICs, which are less kind than the memory of MessageWorld.
struct QueueWorld : RailWorld {
  explicit QueueWorld(const MessageOptions& given = {}) : RailWorld(first, second, {.most_queued = 4 * 1024 * 1024}), options(given) {
    for (SimPort* port : {&port_a, &port_b}) {
      Side& side = port == &port_a ? a : b;
      auto kind = std::make_unique<SimQueueKind>(fabric, side.self, std::vector{port}, [] {});
      side.transport = make_message_transport(std::move(kind), options, network, Log(Side::write_line, &side, 2), side, side.self,
                                              &side.why);
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const override { return network.now(); }
  bool step() override { return progress(a, b); }
  bool step_a() override {
    for (int i = 0; i < 20 && network.step(); ++i) {}
    return progress(a);
  }
  bool rest() override {
    if (network.step()) return true;
    network.after(10 * kMillisecond, [] {});  // nothing else will happen, but for deadlines
    return network.now() < 30 * kSecond;
  }

  SimNetwork network{{}, 7};
  SimQueueFabric fabric{network, {.latest = 200 * kMicrosecond, .put_off = 0.2}, {}};
  SimPort port_a{network, {}}, port_b{network, {}};
  const MessageOptions options;
  Side first{11}, second{22};
};

/// Which read payloads from where they lie.
struct LendingWorld final : QueueWorld {
  LendingWorld() : QueueWorld({.lend_from = 1, .least_lent = 1}) { fabric.options.lends = 0.7; }
};

INSTANTIATE_TEST_SUITE_P(Tcp, RailContract, testing::Values(made<TcpWorld>));
INSTANTIATE_TEST_SUITE_P(Messages, RailContract, testing::Values(made<MessageWorld>));
INSTANTIATE_TEST_SUITE_P(Sharing, RailContract, testing::Values(made<SharingWorld>));
INSTANTIATE_TEST_SUITE_P(Btl, RailContract, testing::Values(made<BtlWorld>));
INSTANTIATE_TEST_SUITE_P(Simulated, RailContract, testing::Values(made<SimWorld>));
INSTANTIATE_TEST_SUITE_P(SimulatedQueues, RailContract, testing::Values(made<QueueWorld>));
INSTANTIATE_TEST_SUITE_P(Lending, RailContract, testing::Values(made<LendingWorld>));

}  // namespace
}  // namespace nezha::test
