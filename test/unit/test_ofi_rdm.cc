// SPDX-License-Identifier: BSD-3-Clause
/// Rails of libfabric over endpoints without connections: the contract, and what is behind it. Over its providers for TCP, with a
/// descriptor to wait for, and for UDP, without one. Skipped where the library is not installed.
#include <array>
#include <cstring>
#include <deque>
#include <map>

#include "ofi_world.h"
#include "rail/ofi/ofi_address.h"
#include "rail/ofi/poll_timer.h"
#include "rail/ofi/rdm_rail.h"
#include "rail_contract.h"
#include "rdm_end.h"

namespace nezha::test {
namespace {

constexpr char kOverTcp[] = "tcp;ofi_rxm:lo", kOverUdp[] = "udp;ofi_rxd:lo";

INSTANTIATE_TYPED_TEST_SUITE_P(OfiRdmTcp, RailContract, OfiWorld<kOverTcp>);
INSTANTIATE_TYPED_TEST_SUITE_P(OfiRdmUdp, RailContract, OfiWorld<kOverUdp>);

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

/// libfabric's address vector, as a count.
struct FakeVector {
  FakeVector() {
    calls.size = sizeof calls;
    calls.insert = [](fid_av* av, const void*, std::size_t, fi_addr_t* made, std::uint64_t, void*) {
      FakeVector& self = *static_cast<FakeVector*>(av->fid.context);
      *made = self.inserted;
      self.inserted += self.answer == 1 ? 1 : 0;
      return self.answer;
    };
    calls.remove = [](fid_av* av, fi_addr_t* gone, std::size_t, std::uint64_t) {
      static_cast<FakeVector*>(av->fid.context)->removed.push_back(*gone);
      return 0;
    };
    vector.fid.context = this;
    vector.ops = &calls;
    library.strerror = [](int) { return "a reason"; };
  }

  OfiLibrary library;
  fi_ops_av calls{};
  fid_av vector{};
  fi_addr_t inserted = 0;
  std::vector<fi_addr_t> removed;
  int answer = 1;
};

TEST(RdmAddresses, EachIsInsertedOnceAndRemovedWithItsLastOwner) {
  FakeVector fake;
  RdmAddresses addresses(fake.library, fake.vector);
  const std::vector<std::byte> here(16, std::byte{1}), there(16, std::byte{2});
  std::shared_ptr<RdmPeer> one, same, other;
  ASSERT_TRUE(addresses.find(here, one).ok() && addresses.find(here, same).ok() && addresses.find(there, other).ok());
  EXPECT_EQ(one, same);
  EXPECT_NE(one->address, other->address);
  EXPECT_EQ(fake.inserted, 2U);
  one.reset();
  EXPECT_TRUE(fake.removed.empty());
  same.reset();
  EXPECT_EQ(fake.removed, std::vector<fi_addr_t>{0});
  ASSERT_TRUE(addresses.find(here, one).ok());
  EXPECT_EQ(one->address, 2U);
  EXPECT_EQ(addresses.size(), 2U);
}

TEST(RdmAddresses, OneThatIsRefusedIsNotKept) {
  FakeVector fake;
  RdmAddresses addresses(fake.library, fake.vector);
  for (const int answer : {0, -FI_EINVAL}) {
    fake.answer = answer;
    std::shared_ptr<RdmPeer> peer;
    EXPECT_FALSE(addresses.find(std::vector<std::byte>(16), peer).ok());
    EXPECT_EQ(peer, nullptr);
  }
  EXPECT_EQ(addresses.size(), 0U);
}

TEST(RdmWire, SaysWhatWasSaid) {
  RdmWords bytes;
  const std::vector<std::byte> address(28, std::byte{7});
  const std::size_t size = write_rdm_call(bytes, {kMostNumber, address});
  RdmCall call;
  ASSERT_TRUE(read_rdm_call(std::span(bytes).first(size), call).ok());
  EXPECT_EQ(call.number, kMostNumber);
  EXPECT_TRUE(std::equal(call.address.begin(), call.address.end(), address.begin(), address.end()));
  std::uint64_t number = 0;
  ASSERT_TRUE(read_rdm_answer(std::span(bytes).first(write_rdm_answer(bytes, 4711)), number).ok());
  EXPECT_EQ(number, 4711U);
}

TEST(RdmWire, WhatCannotBeIsRefused) {
  RdmWords bytes;
  const std::size_t size = write_rdm_call(bytes, {1, std::vector<std::byte>(16)});
  RdmCall call;
  for (std::size_t cut = 0; cut < size; ++cut) EXPECT_FALSE(read_rdm_call(std::span(bytes).first(cut), call).ok()) << cut;
  EXPECT_FALSE(read_rdm_call(std::span(bytes).first(size + 1), call).ok());
  for (const std::size_t at : {0, 3, 4, 5, 6, 7, 13}) {  // magic, version, length, zeros, a number of more than 40 bits
    RdmWords wrong = bytes;
    wrong[at] ^= std::byte{0x80};
    EXPECT_FALSE(read_rdm_call(std::span(wrong).first(size), call).ok()) << at;
  }
  std::uint64_t number = 0;
  EXPECT_FALSE(read_rdm_answer(std::span(bytes).first(size), number).ok()) << "a call";
  const std::size_t answer = write_rdm_answer(bytes, 0);
  EXPECT_FALSE(read_rdm_answer(std::span(bytes).first(answer), number).ok()) << "no number";
  EXPECT_EQ(number, 0U);
}

TEST(RdmWire, NumbersFitTheirBits) {
  for (int i = 0; i < 100; ++i) {
    std::uint64_t number = 0;
    ASSERT_TRUE(random_number(number).ok());
    EXPECT_TRUE(number != 0 && number <= kMostNumber && number != kCallTag);
  }
}

/// Addresses that are texts may have any length, but have an end.
TEST(OfiAddress, ATextThatFitsHasOneEnd) {
  const auto bytes = [](std::string_view text) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(from, from + text.size());
  };
  using std::literals::string_view_literals::operator""sv;
  const std::vector<std::byte> own = bytes("fi_shm://1\0"sv);
  EXPECT_TRUE(fits(FI_ADDR_STR, bytes("fi_shm://12345\0"sv), own));
  for (const std::string_view wrong : {""sv, "\0"sv, "fi_shm://1"sv, "fi_shm\0//1\0"sv})
    EXPECT_FALSE(fits(FI_ADDR_STR, bytes(wrong), own)) << wrong;
  EXPECT_EQ(ofi_address_text(FI_ADDR_STR, own), "fi_shm://1");
  EXPECT_EQ(ofi_address_text(FI_ADDR_STR, bytes("a\nb\0"sv)), "a?b");
}

TEST(PollTimer, WakesLaterEachTimeUntilSomethingHappens) {
  PollTimer timer;
  ASSERT_TRUE(timer.open().ok());
  const Nanoseconds first = timer.span();
  for (int i = 0; i < 12; ++i) {
    const Nanoseconds span = timer.span();
    timer.arm();
    pollfd wait{timer.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 5000), 1);
    timer.awake(false);
    EXPECT_EQ(poll(&wait, 1, 0), 0) << "it is armed for each sleep";
    EXPECT_TRUE(timer.span() == 2 * span || timer.span() == span || i > 5);
    EXPECT_LE(timer.span(), 10 * kMillisecond);
  }
  EXPECT_GT(timer.span(), first);
  timer.arm();
  timer.awake(true);
  EXPECT_EQ(timer.span(), first);
  timer.arm();
  pollfd wait{timer.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 5000), 1) << "one that was armed for longer is armed anew";
}

}  // namespace
}  // namespace nezha::test
