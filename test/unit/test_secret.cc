// SPDX-License-Identifier: BSD-3-Clause
/// The secret of two processes, and that there is no engine where the kernel gives no random bytes to make a key of.
#include "engine/secret.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "nezha/nezha.h"

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

Secret secret_of(const Address& mine, const Address& theirs) {
  Secret secret{};
  EXPECT_TRUE(pair_secret(mine, theirs, secret).ok());
  return secret;
}

TEST(PairSecret, IsTheSameForBothAndNoOneElses) {
  const Address one = address_of(1), two = address_of(2), third = address_of(3);
  EXPECT_EQ(secret_of(one, two), secret_of(two, one));
  EXPECT_NE(secret_of(one, two), secret_of(one, third));
  EXPECT_NE(secret_of(one, two), secret_of(two, third));
}

TEST(PairSecret, NeedsBothKeys) {
  const Address one = address_of(1), two = address_of(2);
  const Secret secret = secret_of(one, two);
  EXPECT_NE(secret, secret_of(address_of(1), two));
  EXPECT_NE(secret, secret_of(one, address_of(2)));
}

TEST(Key, IsAnotherEachTime) {
  EXPECT_NE(address_of(1).key, address_of(1).key);
  EXPECT_NE(address_of(1).key, Secret{});
}

TEST(Engine, HasNoRailsWithoutAKeyOfItsOwn) {
  nezha_config_t* config = nezha_config_create();
  nezha_config_set(config, "single_node", "1", nullptr, 0);
  const nezha_host_t host{nullptr, nullptr, nullptr, [](void*) { return 0; }, nullptr, nullptr};
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
