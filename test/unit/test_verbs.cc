// SPDX-License-Identifier: BSD-3-Clause
// What verbs rails say and read without a device. With devices they are tested in a guest, test/guest.
#include <gtest/gtest.h>

#include <netinet/in.h>

#include "rail/verbs/verbs.h"
#include "rail/verbs/verbs_place.h"
#include "rail/verbs/verbs_words.h"

namespace nezha {
namespace {

PairWords some_words() {
  PairWords words{5, true, 0xabcdef, 0x123456, 0x0708, {}, true};
  for (std::size_t i = 0; i < words.gid.size(); ++i) words.gid[i] = static_cast<std::byte>(i + 1);
  return words;
}

TEST(VerbsWords, AreReadAsWritten) {
  PairWords read;
  ASSERT_TRUE(read_pair_words(write_pair_words(some_words()), read).ok());
  EXPECT_EQ(read, some_words());
}

TEST(VerbsWords, LieOnTheWireAsDocumented) {
  const PairWordsBytes bytes = write_pair_words(some_words());
  const unsigned char start[] = {'N', 'Z', 'V', 'B', 1, 0, 5, 1, 0xef, 0xcd, 0xab, 0, 0x56, 0x34, 0x12, 0, 8, 7, 1, 0, 1, 2};
  for (std::size_t i = 0; i < sizeof start; ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(start[i])) << i;
}

TEST(VerbsWords, RefuseWhatCannotBe) {
  const std::pair<std::size_t, unsigned char> wrong[] = {{0, 'X'}, {4, 2}, {6, 0}, {6, 6}, {7, 2}, {11, 1}, {15, 1}};
  for (const auto& [at, value] : wrong) {
    PairWordsBytes bytes = write_pair_words(some_words());
    bytes[at] = static_cast<std::byte>(value);
    PairWords read;
    EXPECT_FALSE(read_pair_words(bytes, read).ok()) << at;
  }
}

VerbsPlace place4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port) {
  return {4, {a, b, c, d}, port};
}

TEST(VerbsPlaces, AreReadAsWritten) {
  VerbsPlace six{6, {0xfd, 1, 2}, 65535}, read;
  for (const VerbsPlace& place : {place4(10, 1, 0, 7, 4711), six}) {
    ASSERT_TRUE(read_place(write_place(place), read));
    EXPECT_EQ(read, place);
  }
  EXPECT_EQ(text_of(place4(10, 1, 0, 7, 1)), "10.1.0.7");
}

TEST(VerbsPlaces, OfOtherLengthsOrWithoutAPortAreRefused) {
  VerbsPlace read;
  for (const std::size_t size : {0, 4, 5, 7, 17, 19, 96}) EXPECT_FALSE(read_place(std::vector<std::byte>(size, std::byte{1}), read)) << size;
  EXPECT_FALSE(read_place(write_place(place4(10, 1, 0, 7, 0)), read));
}

TEST(VerbsPlaces, OfOneNetworkAreTold) {
  EXPECT_EQ(network_of(place4(10, 1, 130, 7, 1), 20), network_of(place4(10, 1, 140, 9, 2), 20));
  EXPECT_NE(network_of(place4(10, 1, 130, 7, 1), 20), network_of(place4(10, 1, 120, 9, 2), 20));
  EXPECT_NE(network_of(place4(10, 1, 0, 0, 1), 20), network_of(place4(10, 1, 0, 0, 1), 24));
  EXPECT_EQ(network_of(place4(1, 2, 3, 4, 0), 32),
            (std::vector<std::byte>{std::byte{32}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
}

TEST(VerbsPlaces, BecomeSocketAddressesAndCameFromThem) {
  for (const VerbsPlace& place : {place4(192, 168, 3, 4, 80), VerbsPlace{6, {0xfd, 9}, 81}}) {
    sockaddr_storage storage{};
    socket_address(place, storage);
    EXPECT_EQ(place_of(storage), place);
  }
}

InterfaceList list(const char* words) {
  InterfaceList made;
  EXPECT_TRUE(parse(words, made).ok());
  return made;
}

TEST(VerbsNames, AreAskedForByKindOrByWhatNoInterfaceIsCalled) {
  EXPECT_FALSE(may_name_verbs(list("")));
  EXPECT_FALSE(may_name_verbs(list("lo")));
  EXPECT_FALSE(may_name_verbs(list("10.0.0.0/8")));
  EXPECT_FALSE(may_name_verbs(list("tcp/mlx5_0")));
  EXPECT_TRUE(may_name_verbs(list("lo,mlx5_0")));
  EXPECT_TRUE(may_name_verbs(list("verbs/lo")));
  EXPECT_TRUE(may_name_verbs(list("verbs/10.0.0.0/8")));
}

}  // namespace
}  // namespace nezha
