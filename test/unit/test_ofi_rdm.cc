// SPDX-License-Identifier: BSD-3-Clause
/// Rails of libfabric over endpoints without connections: the contract, and what is behind it. Over its providers for TCP, with a
/// descriptor to wait for, and for UDP, without one. Skipped where the library is not installed.
#include <deque>
#include <map>

#include "ofi_world.h"
#include "rail/ofi/rdm_rail.h"
#include "rail_contract.h"
#include "rdm_end.h"

namespace nezha::test {
namespace {

constexpr char kOverTcp[] = "tcp;ofi_rxm:lo", kOverUdp[] = "udp;ofi_rxd:lo";

INSTANTIATE_TEST_SUITE_P(OfiRdmTcp, RailContract, testing::Values(made<OfiWorld<kOverTcp>>));
INSTANTIATE_TEST_SUITE_P(OfiRdmUdp, RailContract, testing::Values(made<OfiWorld<kOverUdp>>));

/// One rail and the pairs that called it.
struct RdmSide final : MessageArrivals {
  RdmSide(const OfiLibrary& library, bool copies) {
    OfiDiscovery found;
    EXPECT_TRUE(discover_ofi(library, words(kOverTcp), {}, found).ok());
    if (found.chosen.size() != 1) return;
    if (!copies) found.chosen[0].info->tx_attr->inject_size = 0;
    rail = std::make_unique<RdmRail>(library, 0, std::move(found.chosen[0].info));
    EXPECT_TRUE(rail->open().ok());
  }
  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string from) override {
    ends.push_back(std::make_unique<RdmEnd>(std::move(pair)));
    callers.push_back(std::move(from));
  }
  RdmEnd& call(const RdmSide& other) {
    std::unique_ptr<QueuePair> pair;
    EXPECT_TRUE(rail->connect(other.rail->address(), pair).ok());
    return *ends.emplace_back(std::make_unique<RdmEnd>(std::move(pair)));
  }
  bool poll() { return rail->poll(Watch::all, *this); }

  std::unique_ptr<RdmRail> rail;
  std::deque<std::unique_ptr<RdmEnd>> ends;
  std::vector<std::string> callers;
};

/// Whether messages may be copied while they are posted: not all providers do (EFA).
class OfiRdm : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Status why;
    library = OfiLibrary::load(why);
    if (library == nullptr) GTEST_SKIP() << why.text();
    a = std::make_unique<RdmSide>(*library, GetParam());
    b = std::make_unique<RdmSide>(*library, GetParam());
    if (!a->rail || !b->rail) GTEST_SKIP() << "this libfabric has no " << kOverTcp;
  }
  template <typename Done>
  bool drive(const Done& done) {
    for (int idle = 0; idle < 5000;) {
      const bool any = static_cast<int>(a->poll()) + static_cast<int>(b->poll()) != 0;
      if (done()) return true;
      if (any) continue;
      ++idle;
      ::poll(nullptr, 0, 1);
    }
    return false;
  }
  [[nodiscard]] bool join() {
    const std::size_t before = b->ends.size();
    const RdmEnd& end = a->call(*b);
    return drive([&] { return end.up && b->ends.size() > before && b->ends.back()->up; });
  }
  /// The message's first byte is `first`.
  [[nodiscard]] bool send(RdmEnd& end, std::uint32_t slot, std::size_t size, std::uint8_t first) {
    end.slots.at(RdmEnd::kSlots + slot)[0] = std::byte{first};
    return drive([&] {
      const QueuePair::Posted posted = end.pair->post_send(RdmEnd::kSlots + slot, size);
      return posted == QueuePair::Posted::yes || posted == QueuePair::Posted::copied;
    });
  }

  const OfiLibrary* library = nullptr;
  std::unique_ptr<RdmSide> a, b;
};

INSTANTIATE_TEST_SUITE_P(Copying, OfiRdm, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(NotCopying, OfiRdm, testing::Values(false));

/// Long ones are fetched by their receiver and complete after short ones that were sent later.
TEST_P(OfiRdm, MessagesOfAnySizeComeInTheirOrder) {
  ASSERT_TRUE(join());
  EXPECT_EQ(b->callers[0].find("127.0.0.1:"), 0U) << b->callers[0];
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 20; ++round) {
    RdmEnd& from = *a->ends[0];
    const std::size_t before = sizes.size();
    std::uint32_t slot = 0;
    for (const std::size_t size : {std::size_t{65 * 1024}, std::size_t{8}, std::size_t{5000}, std::size_t{40000}, std::size_t{9}}) {
      ASSERT_NE(from.pair->post_send(RdmEnd::kSlots + slot++, size), QueuePair::Posted::failed);
      sizes.push_back(size);
    }
    ASSERT_TRUE(drive([&] { return b->ends[0]->sizes.size() == before + slot; }));
  }
  EXPECT_EQ(b->ends[0]->sizes, sizes);
}

/// The other side reads it only after its pair is closed and its owner gone.
TEST_P(OfiRdm, AClosedPairKeepsItsMemoryUntilNothingIsUnderWay) {
  ASSERT_TRUE(join());
  RdmEnd& from = *a->ends[0];
  ASSERT_TRUE(send(from, 0, 65 * 1024, 0x5a));
  from.close();
  a->poll();
  EXPECT_FALSE(from.memory.expired());
  EXPECT_EQ(a->rail->streams(), 1U);
  ASSERT_TRUE(drive([&] { return !b->ends[0]->why.ok(); }));
  EXPECT_EQ(b->ends[0]->firsts, std::vector<std::byte>{std::byte{0x5a}}) << "what was sent before the end comes first";
  EXPECT_EQ(b->ends[0]->why.code(), Code::closed);
  b->ends[0]->close();
  ASSERT_TRUE(drive([&] { return a->rail->streams() + b->rail->streams() == 0; }));
  EXPECT_TRUE(from.memory.expired());
  EXPECT_TRUE(b->ends[0]->memory.expired());
}

/// Neither is left in the queues of the provider, nor is the memory that it comes from.
TEST_P(OfiRdm, WhatComesForAClosedPairIsTakenAndForgotten) {
  ASSERT_TRUE(join());
  a->ends[0]->close();
  for (std::uint32_t slot = 0; slot < 10; ++slot) {
    const QueuePair::Posted posted = b->ends[0]->pair->post_send(RdmEnd::kSlots + slot, 65 * 1024);
    ASSERT_EQ(posted, QueuePair::Posted::yes);
  }
  ASSERT_TRUE(drive([&] { return !b->ends[0]->why.ok(); }));
  b->ends[0]->close();
  ASSERT_TRUE(drive([&] { return a->rail->streams() + b->rail->streams() == 0; }));
  EXPECT_TRUE(a->ends[0]->sizes.empty()) << "a closed pair says nothing";
  EXPECT_TRUE(b->ends[0]->memory.expired());
}

TEST_P(OfiRdm, AnAddressIsThereAsLongAsPairsHaveIt) {
  ASSERT_TRUE(join());
  ASSERT_TRUE(join());
  EXPECT_EQ(a->rail->addresses(), 1U);
  EXPECT_EQ(b->rail->addresses(), 1U);
  a->ends[0]->close();
  ASSERT_TRUE(drive([&] { return a->rail->streams() == 1 && b->rail->streams() == 1; }));
  EXPECT_EQ(a->rail->addresses(), 1U);
  b->ends[1]->close();
  ASSERT_TRUE(drive([&] { return a->rail->streams() + b->rail->streams() == 0; }));
  EXPECT_EQ(a->rail->addresses() + b->rail->addresses(), 0U);
  EXPECT_TRUE(join()) << "and comes again";
}

/// Of an end that says nothing no more than so many closed pairs are kept.
TEST_P(OfiRdm, ClosedPairsOfASilentEndAreDroppedInTheEnd) {
  constexpr std::size_t kPairs = 20;
  for (std::size_t i = 0; i < kPairs; ++i) ASSERT_TRUE(join());
  for (const auto& end : a->ends) end->close();
  for (int i = 0; i < 200; ++i) a->poll();
  EXPECT_LT(a->rail->streams(), kPairs);
  EXPECT_GT(a->rail->streams(), 0U);
}

TEST_P(OfiRdm, ACallThatNobodyHasHeardIsForgotten) {
  RdmEnd& end = a->call(*b);
  end.close();
  for (int i = 0; i < 100; ++i) a->poll();
  EXPECT_EQ(a->rail->streams(), 0U);
  EXPECT_TRUE(end.memory.expired());
}

/// The caller gives up before the answer comes.
TEST_P(OfiRdm, AnAnswerThatComesTooLateIsAnsweredByAClose) {
  RdmEnd& end = a->call(*b);
  for (int i = 0; i < 5000 && b->ends.empty(); ++i) {
    a->poll();
    b->rail->poll(Watch::rare, *b);
    if (b->ends.empty()) ::poll(nullptr, 0, 1);
  }
  ASSERT_EQ(b->ends.size(), 1U);
  end.close();
  ASSERT_TRUE(drive([&] { return !b->ends[0]->why.ok(); }));
  EXPECT_FALSE(end.up);
  b->ends[0]->close();
  ASSERT_TRUE(drive([&] { return a->rail->streams() + b->rail->streams() == 0; }));
}

TEST_P(OfiRdm, OnlyAProviderWithoutConnectedEndpointsIsUsedByOthers) {
  const std::map<std::string, fi_ep_type> expected{
      {"tcp:lo", FI_EP_MSG}, {"lo", FI_EP_MSG}, {"127.0.0.0/8", FI_EP_MSG}, {kOverTcp, FI_EP_RDM}};
  for (const auto& [word, endpoint] : expected) {
    OfiDiscovery found;
    ASSERT_TRUE(discover_ofi(*library, words(word.c_str()), {}, found).ok());
    ASSERT_EQ(found.chosen.size(), 1U) << word;
    EXPECT_EQ(found.chosen[0].info->ep_attr->type, endpoint) << word;
    const std::vector<std::string>& names = found.available;
    EXPECT_EQ(std::count(names.begin(), names.end(), kOverTcp), 1) << "it is listed once";
  }
}

}  // namespace
}  // namespace nezha::test
