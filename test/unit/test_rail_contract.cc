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

struct TcpWorld {
  static constexpr bool kAuthenticates = true, kWakes = true;
  static constexpr std::size_t kMostQueued = 8 * 1024 * 1024;

  TcpWorld() { a.known = b.self, b.known = a.self; }
  Nanoseconds now() const { return clock.now(); }
  bool step() { return progress(a, b); }
  bool step_a() { return progress(a); }
  bool rest() {
    poll(nullptr, 0, 1);
    return true;
  }

  HandClock clock;
  Side a{11, clock, {}, 1}, b{22, clock, {}, 1};
};

struct MessageWorld {
  static constexpr bool kAuthenticates = true, kWakes = true;
  static constexpr std::size_t kMostQueued = 4 * 1024 * 1024;

  MessageWorld() {
    fabric.refuse_every = 5;
    for (Side* side : {&a, &b})
      side->transport = make_message_transport(std::make_unique<FakeKind>(fabric, 1), options, clock,
                                               Log(Side::write_line, side, 2), *side, side->self, &side->why);
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const { return clock.now(); }
  bool step() { return progress(a, b); }
  bool step_a() { return progress(a); }
  bool rest() {
    clock.advance(10 * kMillisecond);  // nothing else will happen, but for deadlines
    return clock.now() < 30 * kSecond;
  }

  HandClock clock;
  MessageOptions options;
  FakeFabric fabric;
  Side a{11}, b{22};
};

struct BtlWorld {
  static constexpr bool kAuthenticates = true, kWakes = false;
  static constexpr std::size_t kMostQueued = 4 * 1024 * 1024;

  BtlWorld() {
    at_a.other = &at_b, at_b.other = &at_a;
    for (Side* side : {&a, &b}) {
      FakeHost& host = side == &a ? at_a : at_b;
      host.refuse_every = 7;
      side->transport = make_message_transport(make_btl_kind(host, side == &a ? 0 : 1), options, clock,
                                               Log(Side::write_line, side, 2), *side, side->self, &side->why);
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const { return clock.now(); }
  bool step() {
    const bool moved = at_a.deliver() | at_b.deliver();
    return progress(a, b) || moved;
  }
  bool step_a() {
    const bool moved = at_a.deliver() | at_b.deliver();
    return progress(a) || moved;
  }
  bool rest() {
    clock.advance(10 * kMillisecond);
    return clock.now() < 60 * kSecond;
  }

  HandClock clock;
  MessageOptions options = btl_options(0);
  FakeHost at_a, at_b;
  Side a{11}, b{22};
};

struct SimWorld {
  static constexpr bool kAuthenticates = false, kWakes = false;
  static constexpr std::size_t kMostQueued = 1024 * 1024;

  SimWorld() {
    for (SimPort* port : {&port_a, &port_b}) {
      Side& side = port == &port_a ? a : b;
      side.transport = std::make_unique<SimTransport>(network, network, side.self, std::vector{port}, side, [] {});
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const { return network.now(); }
  bool step() { return progress(a, b); }
  bool step_a() { return progress(a); }
  bool rest() { return network.step(); }

  SimNetwork network{{.stall = 0.1, .stall_time = kMillisecond, .short_write = 0.2, .short_read = 0.2}, 7};
  SimPort port_a{network, {}}, port_b{network, {}};
  Side a{11}, b{22};
};

/// Rails over messages on simulated NICs, which are less kind than the memory of MessageWorld.
struct QueueWorld {
  static constexpr bool kAuthenticates = true, kWakes = true;
  static constexpr std::size_t kMostQueued = 4 * 1024 * 1024;

  QueueWorld() {
    for (SimPort* port : {&port_a, &port_b}) {
      Side& side = port == &port_a ? a : b;
      auto kind = std::make_unique<SimQueueKind>(fabric, side.self, std::vector{port}, [] {});
      side.transport = make_message_transport(std::move(kind), options, network, Log(Side::write_line, &side, 2), side, side.self,
                                              &side.why);
    }
    a.known = b.self, b.known = a.self;
  }
  Nanoseconds now() const { return network.now(); }
  bool step() { return progress(a, b); }
  bool step_a() {
    for (int i = 0; i < 20 && network.step(); ++i) {}
    return progress(a);
  }
  bool rest() {
    if (network.step()) return true;
    network.after(10 * kMillisecond, [] {});  // nothing else will happen, but for deadlines
    return network.now() < 30 * kSecond;
  }

  SimNetwork network{{}, 7};
  SimQueueFabric fabric{network, {.latest = 200 * kMicrosecond, .put_off = 0.2}, {}};
  SimPort port_a{network, {}}, port_b{network, {}};
  MessageOptions options;
  Side a{11}, b{22};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, RailContract, TcpWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Messages, RailContract, MessageWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Btl, RailContract, BtlWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, RailContract, SimWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedQueues, RailContract, QueueWorld);

}  // namespace
}  // namespace nezha::test
