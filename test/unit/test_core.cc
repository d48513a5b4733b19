// SPDX-License-Identifier: BSD-3-Clause
/// What a process's peers may cost, when their team may begin, and who is told of what.
#include <gtest/gtest.h>

#include "engine/core.h"
#include "engine/memory.h"
#include "rail/tcp/tcp_place.h"
#include "trunk/wire.h"
#include "trunk_pair.h"

namespace nezha {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

class StoppedClock final : public Clock {
 public:
  Nanoseconds now() const override { return time; }
  Nanoseconds time = kSecond;
};

std::vector<RailAddress> some_rails(std::size_t count) {
  std::vector<RailAddress> rails(count);
  for (std::size_t i = 0; i < count; ++i) {
    rails[i] = tcp_address({"eth" + std::to_string(i), "", 4, {10, static_cast<std::uint8_t>(i), 0, 1}, 24, 0}, 1);
  }
  return rails;
}

/// What a transport was told.
struct Words {
  std::size_t bound = 0;
  bool announces = true;               ///< what it says of it
  std::vector<std::size_t> announced;  ///< rails
  std::size_t taken = 0;               ///< addresses, the last time
  Loopback loopback;                   ///< what it says of it
};

Loopback some_loopback(std::uint64_t network) { return {network, tcp_address({"lo", "lo", 4, {127, 0, 0, 1}, 8, 0}, 1)}; }

/// Has rails and no lanes, and remembers what it was told.
class Told final : public Transport {
 public:
  explicit Told(Words& words) : words_(words) {}
  std::span<const RailAddress> rails() const override { return rails_; }
  std::string where(const RailAddress&) const override { return "nowhere"; }
  Loopback loopback() const override { return words_.loopback; }
  void connect(const LaneSpec&, std::size_t, const RailAddress&, Nanoseconds) override {}
  bool progress(Watch) override { return false; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void bound_lanes(std::size_t bytes) override { words_.bound = bytes; }
  bool may_announce(std::size_t) const override { return words_.announces; }
  void announce(std::size_t rail, std::span<const RailAddress* const> taken) override {
    words_.announced.push_back(rail);
    words_.taken = taken.size();
  }
  void forget(Lane&) override {}

 private:
  Words& words_;
  const std::vector<RailAddress> rails_ = some_rails(2);
};

class OneOfAJob : public testing::Test {
 protected:
  explicit OneOfAJob(std::uint32_t rank = 0, const Loopback& loopback = {}) : core(config, clock, {}, rank, "here", 1000, {}) {
    words.loopback = loopback;
    core.add_transport(std::make_unique<Told>(words));
  }

  /// Another one, with so many rails, on a node of its own or on this one.
  void add_peer(std::size_t rails, bool same_node = false) { add_peer(some_rails(rails), same_node); }
  void add_peer(std::vector<RailAddress> rails, bool same_node, const Loopback& loopback = {}) {
    Address address;
    address.id = ++peers + 1;
    address.job_rank = static_cast<std::uint32_t>(peers);
    address.node = "there";
    address.rails = std::move(rails);
    address.loopback = loopback;
    Status why;
    latest = core.add_peer(encode_address(address), same_node, why);
    ASSERT_NE(latest, nullptr) << why.text();
    EXPECT_EQ(latest->trunk, nullptr) << "nobody needs it yet";
    core.open(*latest);
  }

  Config config;
  StoppedClock clock;
  Words words;
  std::size_t peers = 0;
  Peer* latest = nullptr;
  test::HandLane lane{{2, 0, 0, false, 1}}, other_lane{{2, 1, 1, false, 1}};  ///< outlive the core, which closes them
  Core core;
};

/// A team of this process, which is rank 0, and one other.
class Agreed : public OneOfAJob {
 protected:
  /// What they come to when the other has nothing against it.
  nezha_team_state_t agree() {
    core.step(clock.now());
    std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
    core.vote(*team, words);
    return core.decide(*team, words);
  }
  void add_pair() {
    add_peer(1);
    team = core.create_team("both", 0, {nullptr, latest});
  }

  Team* team = nullptr;
};

/// Else the first call would wait for the lane, and in vain for one that does not come back, while the incumbent might do.
TEST_F(Agreed, WhereAPairHasJustLostItsLaneNotToBegin) {
  add_pair();
  core.lane_up(lane);
  latest->trunk->lane_down(lane, {Code::io, "gone"});
  EXPECT_EQ(agree(), NEZHA_TEAM_WIRING);
  EXPECT_EQ(agree(), NEZHA_TEAM_WIRING) << "it is not declined either: the lane may come back";
  core.lane_up(lane);
  EXPECT_EQ(agree(), NEZHA_TEAM_READY);
}

/// Another member was ready first, began, and gave up: else the first call here would wait for it.
TEST_F(Agreed, ATeamThatHasFailedElsewhereBeforeItIsReadyHere) {
  add_pair();
  core.lane_up(lane);
  core.step(clock.now());
  std::array<std::uint64_t, NEZHA_VOTE_WORDS> words{};
  core.vote(*team, words);
  for (const std::uint64_t word : words) core.team_failed(word, {Failure::Why::broken, 1, 1});  // one of them is its id
  EXPECT_EQ(core.decide(*team, words), NEZHA_TEAM_READY);
  EXPECT_NE(team->error().find("rank 1 on there gave up"), std::string::npos) << team->error();
}

/// A program may have a communicator for each of many purposes, and use few at a time.
class ManyTeams : public Agreed {
 protected:
  ManyTeams() {
    add_peer(2);
    core.lane_up(lane);
    core.lane_up(other_lane);
    for (int i = 0; i < 1000; ++i) teams.push_back(core.create_team("one of many", 0, {nullptr, latest}));
  }
  void make_ready() {
    for (Team* const each : teams) {
      team = each;
      ASSERT_EQ(agree(), NEZHA_TEAM_READY);
      ASSERT_TRUE(team->lacks_rates());
    }
  }
  /// By the last step of that time.
  std::size_t attended_after(Nanoseconds time) {
    for (const Nanoseconds until = clock.time + time; clock.time < until; core.step(clock.now()))
      clock.time += kSecond / 10;
    return core.attended();
  }

  std::vector<Team*> teams;
};

TEST_F(ManyTeams, AreNotLookedAtWhileTheyRest) {
  EXPECT_EQ(core.attended(), teams.size()) << "all are being wired";
  make_ready();
  EXPECT_EQ(attended_after(kSecond), 0u);
  EXPECT_FALSE(core.wiring());
}

TEST_F(ManyTeams, AreNotLookedAtWhereTheirMembersNeverCome) {
  EXPECT_EQ(attended_after(10 * kSecond), 0u);
  make_ready();
}

TEST_F(ManyTeams, AreLookedAtWhileTheirLanesAreSampled) {
  make_ready();
  core.step(clock.now());
  core.sample(*team, MiB);
  EXPECT_TRUE(core.wiring());
  EXPECT_EQ(attended_after(kSecond / 2), 1u);
  EXPECT_FALSE(lane.frames.empty() || other_lane.frames.empty());
  EXPECT_EQ(attended_after(kSecond), 0u);
  EXPECT_EQ(latest->sample, Sample::done);
}

TEST_F(ManyTeams, AreLookedAtWhileTheyHaveAnOperation) {
  make_ready();
  core.step(clock.now());
  std::vector<std::uint64_t> words(1);
  core.start(*team, Team::combine(words, NEZHA_SUM), AlgorithmChoice::mesh);
  EXPECT_EQ(attended_after(5 * kSecond), 1u) << "it waits for the other's words";
  core.destroy_team(*team);
  EXPECT_EQ(core.attended(), 0u);
}

class WantedRails : public OneOfAJob {
 protected:
  WantedRails() : OneOfAJob(5) {}

  /// What rank 0's `rails` are here, where it has ours the other way round, under these names.
  RailSet here(RailSet rails, const std::string& first, const std::string& second, bool same_node) {
    std::vector<RailAddress> theirs = some_rails(2);
    std::swap(theirs[0], theirs[1]);
    theirs[0].name = first;
    theirs[1].name = second;
    add_peer(theirs, same_node);
    return core.rails_here(*core.create_team("team", 1, {latest, nullptr}), rails);
  }
};

TEST_F(WantedRails, OfAnotherNodeAreThoseThatAreConnectedToThem) {
  EXPECT_EQ(here(only(0), "ib0", "eth1", false), only(1));
  EXPECT_EQ(here(only(1), "ib0", "eth1", false), only(0));
  EXPECT_EQ(here(only(0) | only(1), "ib0", "eth1", false), only(0) | only(1));
  EXPECT_EQ(here(only(5), "ib0", "eth1", false), 0);
  EXPECT_EQ(here(0, "ib0", "eth1", false), 0);
}

TEST_F(WantedRails, OfTheSameNodeAreThoseOfTheSameNames) {
  EXPECT_EQ(here(only(0), "eth1", "eth0", true), only(1));
  EXPECT_EQ(here(only(1), "eth1", "eth0", true), only(0)) << "whatever lanes there are between the two";
  EXPECT_EQ(here(only(0), "ib0", "eth0", true), 0);
}

TEST_F(WantedRails, OfRank0AreItsOwn) {
  add_peer(2);
  EXPECT_EQ(core.rails_here(*core.create_team("team", 0, {nullptr, latest}), only(1)), only(1));
}

class WithinANode : public OneOfAJob {
 protected:
  WithinANode() : OneOfAJob(0, some_loopback(7)) {}
};

TEST_F(WithinANode, ThePairHasItsLoopbackAndTheRailsAreSpare) {
  add_peer(some_rails(2), true, some_loopback(7));
  ASSERT_EQ(latest->wires.size(), 3u);
  EXPECT_EQ(latest->wires[0].rails, (RailPair{kLoopbackRail, kLoopbackRail}));
  EXPECT_EQ(latest->wires[0].label, "tcp/lo - tcp/lo");
  EXPECT_FALSE(latest->wires[0].spare);
  EXPECT_TRUE(latest->wires[1].spare && latest->wires[2].spare);
  EXPECT_TRUE(latest->same_node);
  EXPECT_TRUE(core.expects({latest->address.id, kLoopbackRail, kLoopbackRail, true}));
  EXPECT_EQ(core.lanes_to_come(*core.plan_team("both", 0, {nullptr, latest})), 1u);
  EXPECT_EQ(core.rails(), 2u) << "it is none of the user's";
}

TEST_F(WithinANode, WhoLivesInAnotherNetworkNamespaceIsAsOnAnotherNode) {
  add_peer(some_rails(2), true, some_loopback(8));
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
  EXPECT_FALSE(latest->same_node);
  EXPECT_FALSE(core.expects({latest->address.id, kLoopbackRail, kLoopbackRail, true}));
}

TEST_F(WithinANode, WhoHasNoLoopbackUsesAllRails) {
  add_peer(some_rails(2), true);
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
  EXPECT_TRUE(latest->same_node);
}

TEST_F(WithinANode, TheLoopbackOfAnotherNodeIsNotTheOwn) {
  add_peer(some_rails(2), false, some_loopback(7));
  EXPECT_EQ(latest->wires.size(), 2u);
  EXPECT_FALSE(latest->wires[0].spare || latest->wires[1].spare);
}

class Memory : public OneOfAJob {};

TEST_F(Memory, LanesGetLessAsPeersCome) {
  add_peer(2);
  EXPECT_EQ(words.bound, 512 * KiB);
  while (peers < 16) add_peer(2);
  EXPECT_EQ(words.bound, 512 * KiB);
  while (peers < 64) add_peer(2);
  EXPECT_EQ(words.bound, 128 * KiB);
  EXPECT_EQ(core.trunk_options(0).keep, keep_memory(65));
}

TEST_F(Memory, APeerWithOneLaneAllowsItMore) {
  while (peers < 64) add_peer(1);
  EXPECT_EQ(words.bound, 256 * KiB);
  add_peer(2);  // one with more counts for all
  EXPECT_EQ(words.bound, lane_memory(65, 2));
}

TEST(PeerMemory, IsWhatWasPromised) {
  for (std::size_t peers = 1; peers <= 110; ++peers)
    for (std::size_t lanes = 1; lanes <= kMaxRails && peers * lanes <= 256; ++lanes)
      EXPECT_LE(keep_memory(peers) + early_window(peers) / 4 * 5 + lanes * lane_memory(peers, lanes), std::min(2 * MiB, 32 * MiB / peers));
  for (std::size_t peers : {1000, 100000}) {
    EXPECT_EQ(early_window(peers), 16 * KiB);
    EXPECT_GE(keep_memory(peers), 2 * kMostCopied) << "a small operation must always fit";
    EXPECT_EQ(lane_memory(peers, 16), 64 * KiB) << "a connection must always work";
  }
}

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

/// Only remembers which of its rails it was to connect.
class OneRail final : public Transport {
 public:
  explicit OneRail(const char* transport) { rail_.transport = rail_.name = transport; }
  std::span<const RailAddress> rails() const override { return {&rail_, 1}; }
  std::string where(const RailAddress& rail) const override { return "at " + rail.name; }
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds) override {
    connected.push_back({spec.local_rail, local, remote.transport});
  }
  bool progress(Watch) override { return false; }
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
