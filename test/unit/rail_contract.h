// SPDX-License-Identifier: BSD-3-Clause
/// The rail contract (rail/rail.h) as tests that every kind of rail must pass (rail_contract.cc). A kind brings a world of two
/// processes and says INSTANTIATE_TEST_SUITE_P(Name, RailContract, testing::Values(made<World>)). What a kind does beyond the
/// contract has tests of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "random_bytes.h"
#include "tcp_pair.h"

namespace nezha::test {

struct RailTraits {
  bool authenticates = true;    ///< it checks secrets; only the simulation does not
  bool wakes = true;            ///< its descriptor tells when there is something to do
  std::size_t most_queued = 0;  ///< bytes that a lane takes while nobody reads, at most
};

class RailWorld {
 public:
  /// The sides, each with a transport of at least one rail, that know each other, are made by whoever derives from this.
  RailWorld(Side& first, Side& second, const RailTraits& its) : a(first), b(second), traits(its) {}
  RailWorld(const RailWorld&) = delete;
  RailWorld& operator=(const RailWorld&) = delete;
  virtual ~RailWorld() = default;

  virtual Nanoseconds now() const = 0;
  /// progress() of each transport that is there, and time. False: nothing has happened.
  virtual bool step() = 0;
  /// The same without b, which is busy elsewhere.
  virtual bool step_a() = 0;
  /// After such a step: waits a moment for more. False: there will be none.
  virtual bool rest() = 0;
  /// This machine has such rails.
  virtual bool there() const { return true; }

  Side &a, &b;
  const RailTraits traits;
};

using MakeRailWorld = std::unique_ptr<RailWorld> (*)();

template <typename World>
std::unique_ptr<RailWorld> made() {
  return std::make_unique<World>();
}

class RailContract : public testing::TestWithParam<MakeRailWorld> {
 protected:
  using Frame = FrameLog::Frame;

  void SetUp() override;
  /// Until `done`. False: nothing happens any more, and it never came to that.
  bool drive(const std::function<bool()>& done);
  /// For what must not happen.
  void settle();

  void connect() { connect(world.b.transport->rails()[0]); }
  void connect(const RailAddress& remote);
  [[nodiscard]] bool join();
  Lane& lane_a() { return *world.a.lanes.back(); }
  Lane& lane_b() { return *world.b.lanes.back(); }
  FrameLog& at_a() { return *world.a.logs.back(); }
  FrameLog& at_b() { return *world.b.logs.back(); }

  Frame random_frame(std::size_t header, std::size_t payload);
  /// The payload cut at random places.
  std::vector<Gather> parts_of(const Frame& frame);
  Lane::Sent send(Lane& lane, const Frame& frame) { return lane.send(frame.header, parts_of(frame)); }
  /// Sends it and spoils the source as soon as the contract permits.
  void send_and_spoil(Lane& lane, const FrameLog& told, Frame frame);
  /// Large frames until the lane takes no more, while b does not look. False: it takes without end.
  bool stuff(const Frame& frame);

  Random random{11};
  int held = 0;
  const std::unique_ptr<RailWorld> owned = GetParam()();
  RailWorld& world = *owned;
};

}  // namespace nezha::test
