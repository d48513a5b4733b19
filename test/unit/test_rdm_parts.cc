// SPDX-License-Identifier: BSD-3-Clause
/// What rails of libfabric over endpoints without connections are made of, each for itself and without libfabric.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "rail/ofi/ofi_address.h"
#include "rail/ofi/poll_timer.h"
#include "rail/ofi/rdm_addresses.h"
#include "rail/ofi/rdm_wire.h"

namespace nezha::test {
namespace {

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
