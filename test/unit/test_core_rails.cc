// SPDX-License-Identifier: BSD-3-Clause
/// Who is told of rails that are back or have moved, and how those of several transports are numbered.
#include "core_case.h"
#include "trunk/wire.h"

namespace nezha {
namespace {

/// Rank 2; its peers are the ranks from 1 on.
class Announced : public OneOfAJob {
 protected:
  Announced() : OneOfAJob(2) {}
  void rail_is_back() { core.rail_back(1, core.self().rails[1]); }
  void rail_of_latest_is_back() {
    core.peer_rail(*latest->trunk, {1, latest->address.rails[1]});
    core.progress(Watch::all);
  }
};

TEST_F(Announced, ARailThatIsBackByTheFirstProcessOfItsNode) {
  add_peer(2);
  add_peer(2, true);  // the rank is its own, which does not matter here
  add_peer(1, true);
  rail_is_back();
  EXPECT_EQ(words.announced, std::vector<std::size_t>{1});
  EXPECT_EQ(words.taken, 5u) << "where its peers are";
}

TEST_F(Announced, InAnswerToAPeersRailThatIsBackUnlessTooManyWould) {
  add_peer(2);
  rail_of_latest_is_back();
  EXPECT_EQ(words.announced, std::vector<std::size_t>{1});
  while (peers < 65) add_peer(2);
  rail_of_latest_is_back();
  EXPECT_EQ(words.announced.size(), 1u);
}

/// Of a large job there are many addresses to look through.
TEST_F(Announced, NothingThatTheTransportMayNot) {
  add_peer(2);
  words.announces = false;
  rail_is_back();
  rail_of_latest_is_back();
  EXPECT_TRUE(words.announced.empty());
}

/// They know the address from the start only, and nothing is up to tell them another. Rank 2 waits to be connected to otherwise.
TEST_F(Announced, ARailThatHasMovedByConnectingToPeersThatAreWantedLater) {
  RailAddress moved = core.self().rails[1];
  moved.place[0] = std::byte{77};
  add_peer(2);
  Peer* const before = latest;
  core.rail_back(1, moved);
  core.create_team("of one known before", 1, {before, nullptr});
  core.step(clock.now());
  EXPECT_EQ(words.connected, std::vector<std::size_t>{1});
  add_peer(2);
  core.create_team("of one known since", 1, {latest, nullptr});
  core.step(clock.now());
  EXPECT_EQ(words.connected, (std::vector<std::size_t>{1, 1}));
}

/// Only remembers which of its rails it was to connect.
class OneRail final : public Transport {
 public:
  explicit OneRail(const char* transport) { rail_.transport = rail_.name = transport; }
  std::span<const RailAddress> rails() const override { return {&rail_, 1}; }
  std::string where(const RailAddress& rail) const override { return "at " + rail.name; }
  std::string pci_device(std::size_t rail) const override { return rail == 0 ? "that of " + rail_.name : "of no such rail"; }
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds) override {
    connected.push_back({spec.local_rail, local, remote.transport});
  }
  bool progress(Watch) override { return false; }
  bool admit() override { return false; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void forget(Lane&) override {}

  struct Connect {
    std::size_t process_rail, local;
    std::string remote;
    bool operator==(const Connect&) const = default;
  };
  std::vector<Connect> connected;

 private:
  RailAddress rail_;
};

TEST(SeveralTransports, HaveRailsThatAreNumberedTogether) {
  Config config;
  StoppedClock clock;
  Words words;
  Core core(config, clock, {}, 0, "here", 1000, {});
  std::vector<OneRail*> kinds;
  core.add_transport(std::make_unique<Told>(words));  // two of TCP
  for (const char* kind : {"verbs", "ofi"}) {
    auto transport = std::make_unique<OneRail>(kind);
    kinds.push_back(transport.get());
    core.add_transport(std::move(transport));
  }
  ASSERT_EQ(core.rails(), 4u);
  EXPECT_EQ(core.where(core.self().rails[0]), "nowhere");
  EXPECT_EQ(core.where(core.self().rails[3]), "at ofi");
  EXPECT_EQ(core.pci_device(1), "") << "by its name, of which the kernel knows none";
  EXPECT_EQ(core.pci_device(3), "that of ofi");
  Address address = core.self();
  address.id = 2;
  address.job_rank = 1;
  std::reverse(address.rails.begin(), address.rails.end());
  Status why;
  Peer* const peer = core.add_peer(encode_address(address), false, why);
  ASSERT_NE(peer, nullptr) << why.text();
  core.create_team("both", 0, {nullptr, peer});
  core.step(clock.now());
  EXPECT_EQ(kinds[0]->connected, (std::vector<OneRail::Connect>{{2, 0, "verbs"}}));
  EXPECT_EQ(kinds[1]->connected, (std::vector<OneRail::Connect>{{3, 0, "ofi"}}));
}

TEST(MovedRails, ArePlacesOfTheirOwnTransportOnly) {
  RailAddress verbs = some_rails(1)[0];
  verbs.transport = "verbs";
  Config config;
  StoppedClock clock;
  Words words;
  Core core(config, clock, {}, 0, "here", 1000, {});
  core.add_transport(std::make_unique<Told>(words));
  Address address;
  address.id = 2;
  address.job_rank = 1;
  address.rails = some_rails(2);
  Status why;
  Peer* const peer = core.add_peer(encode_address(address), false, why);
  ASSERT_NE(peer, nullptr) << why.text();
  core.open(*peer);
  core.peer_rail(*peer->trunk, {1, verbs});
  core.progress(Watch::all);
  EXPECT_EQ(peer->address.rails[1], address.rails[1]);
  RailAddress moved = address.rails[1];
  moved.place[0] = std::byte{77};
  core.peer_rail(*peer->trunk, {1, moved});
  core.progress(Watch::all);
  EXPECT_EQ(peer->address.rails[1], moved);
}

/// The link was lost at this end only.
TEST_F(Announced, ARailThatIsBackToWhoConnectsToIt) {
  add_peer(2);  // rank 1
  core.lane_up(lane);
  lane.frames.clear();
  rail_is_back();
  core.progress(Watch::all);
  ASSERT_EQ(lane.frames.size(), 1u);
  FrameRecords records;
  ASSERT_TRUE(parse_records(lane.frames[0].header, 0, records).ok());
  ASSERT_NE(records.count, 0u);
  for (std::size_t i = 0; i < records.count; ++i)
    EXPECT_EQ(records.pieces[i].step, static_cast<std::uint16_t>(Control::rail_at));
}

TEST_F(Announced, NotByTheOthersOfItsNode) {
  add_peer(2, true);
  rail_is_back();
  EXPECT_TRUE(words.announced.empty());
}

}  // namespace
}  // namespace nezha
