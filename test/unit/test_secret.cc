// SPDX-License-Identifier: BSD-3-Clause
/// The secret of two processes, and that there is no engine where the kernel gives no random bytes to make a key of.
#include "engine/secret.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "nezha/nezha.h"
#include "util/hmac.h"

namespace {

int calls_left = -1;  ///< of getrandom(), until it refuses one; -1: it does not

}  // namespace

extern "C" ssize_t getrandom(void* into, std::size_t size, unsigned flags) {
  if (calls_left < 0 || calls_left-- > 0) return syscall(SYS_getrandom, into, size, flags);
  errno = ENOSYS;
  return -1;
}

namespace nezha::test {
namespace {

Address address_of(ProcessId id) {
  Address address;
  address.id = id;
  EXPECT_TRUE(make_key(address.key).ok());
  return address;
}

TEST(PairSecret, IsTheSameForBothAndNoOneElses) {
  const Address one = address_of(1), two = address_of(2), third = address_of(3);
  EXPECT_EQ(pair_secret(one, two), pair_secret(two, one));
  EXPECT_NE(pair_secret(one, two), pair_secret(one, third));
  EXPECT_NE(pair_secret(one, two), pair_secret(two, third));
}

TEST(PairSecret, NeedsBothKeys) {
  const Address one = address_of(1), two = address_of(2);
  const Secret secret = pair_secret(one, two);
  EXPECT_NE(secret, pair_secret(address_of(1), two));
  EXPECT_NE(secret, pair_secret(one, address_of(2)));
}

TEST(Hmac, IsSha256sOfRfc2104) {
  Secret secret;
  std::iota(secret.begin(), secret.end(), std::uint8_t{0});
  constexpr std::string_view kText = "nezha";
  constexpr Secret kExpected{0xd1, 0xa9, 0x70, 0xa2, 0x10, 0x2c, 0x1c, 0x7a, 0x68, 0x80, 0xce, 0x29, 0x51, 0x97, 0xeb, 0xc8,
                             0x89, 0x19, 0x00, 0x3e, 0x3d, 0x26, 0x5d, 0xb6, 0xf8, 0xf5, 0x44, 0x33, 0xbb, 0x0c, 0xe9, 0xfd};  // by Python's hmac
  EXPECT_EQ(secret_from(hmac_sha256(secret, std::as_bytes(std::span(kText)))), kExpected);
}

TEST(Key, IsAnotherEachTime) {
  EXPECT_NE(address_of(1).key, address_of(1).key);
  EXPECT_NE(address_of(1).key, Secret{});
}

TEST(Engine, HasNoRailsWithoutAKeyOfItsOwn) {
  nezha_config_t* config = nezha_config_create();
  nezha_config_set(config, "single_node", "1", nullptr, 0);
  const nezha_host_t host{nullptr, nullptr, nullptr, [](void*) { return 0; }, nullptr, nullptr, nullptr, nullptr};
  const nezha_self_t self{0, "here", 0, 0};
  const auto create = [&](int calls) {
    nezha_engine_t* engine = nullptr;
    char why[256] = "";
    calls_left = calls;
    const int result = nezha_engine_create(config, &host, &self, &engine, why, sizeof why);
    calls_left = -1;
    nezha_engine_destroy(engine);
    return result == NEZHA_OK ? "" : std::string(why);
  };
  EXPECT_EQ(create(-1), "");
  for (const int calls : {0, 1}) EXPECT_EQ(create(calls), "the kernel gives no random bytes") << "a key alone, or an id";
  nezha_config_destroy(config);
}

}  // namespace
}  // namespace nezha::test
