// SPDX-License-Identifier: BSD-3-Clause
/// A process that ends while others still lack a part of its last call. Its sockets hold next to nothing, so that what it has sent is
/// not with the kernel.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "ranks.h"

namespace nezha::test {
namespace {

constexpr std::size_t kBytes = 200 * 1024;

class Ends : public testing::Test {
 protected:
  /// Rank 0 is the root.
  int broadcast(int rank, std::vector<std::byte>& vector) {
    const nezha_call_t call{NEZHA_BROADCAST, vector.data(), vector.data(), kBytes, 1, NEZHA_UINT8, NEZHA_SUM, nullptr, nullptr, 0, 0};
    return nezha_carry(team.handle(rank), &call);
  }
  void end(int rank) {
    team.destroy(rank);
    ranks.at(rank).destroy();
  }

  Ranks ranks{2, {{"single_node", "2"}, {"timeout", "3"}}, {"a", "b"}};
  Team team{ranks, "ends"};
};

TEST_F(Ends, OnlyWhenTheOthersHaveWhatTheyLack) {
  ASSERT_TRUE(team.start());
  std::thread root([&] {
    std::vector vector(kBytes, std::byte{7});
    EXPECT_EQ(broadcast(0, vector), NEZHA_OK);
    end(0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the root waits for nobody
  std::vector vector(kBytes, std::byte{0});
  EXPECT_EQ(broadcast(1, vector), NEZHA_OK);
  EXPECT_TRUE(vector == std::vector(kBytes, std::byte{7}));
  root.join();
}

}  // namespace
}  // namespace nezha::test

/// The system's, but that TCP's send buffer is the smallest there is.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  static const auto system = reinterpret_cast<decltype(&socket)>(dlsym(RTLD_NEXT, "socket"));
  const int made = system(domain, type, protocol);
  const int least = 1;
  if (made >= 0 && domain == AF_INET) setsockopt(made, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  return made;
}
