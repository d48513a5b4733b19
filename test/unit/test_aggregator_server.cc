// SPDX-License-Identifier: BSD-3-Clause
/// What an aggregation service does beside its operations, with a disk that is slow.
#include "engine/aggregation/aggregator_server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "engine/aggregation/greeting.h"
#include "util/file.h"

namespace nezha::test {
namespace {

int waits = 0;  ///< for the disk

/// As a rank does it.
void greet(AggregatorServer& server) {
  const SystemClock clock;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(server.port());
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  Address rank = server.core().self();
  rank.id += 1;
  rank.job_rank = 0;
  Greeting greeting(Greeting::Side::rank, std::move(fd), Secret{}, rank, clock.now() + 10 * kSecond);
  Greeting::State state = Greeting::State::pending;
  for (; state == Greeting::State::pending; state = greeting.step(clock.now())) server.turn();
  EXPECT_EQ(state, Greeting::State::done) << greeting.why().text();
}

/// Ranks find no sign of life in a service that waits for half a second.
TEST(AggregatorServer, WaitsForNoDisk) {
  AggregatorServer::Options options;
  ASSERT_TRUE(set_parameter(options.config, "single_node", "2").ok());
  options.node = "aggregator";
  options.host = "127.0.0.1";
  options.statistics = testing::TempDir() + "nezha-statistics-" + std::to_string(getpid());
  AggregatorServer server(options, Log());
  Notices notices;
  const Status status = server.open(notices);
  ASSERT_TRUE(status.ok()) << status.text();
  const int before = waits;
  server.turn();
  std::string text;
  EXPECT_TRUE(read_file({options.statistics}, 10000, text).ok());
  EXPECT_NE(text.find("\nnezha_aggregator_clients 0\n"), std::string::npos) << text;
  EXPECT_EQ(waits, before);
  unlink(options.statistics.c_str());
}

/// Else monitoring sees for ever what it was doing at its end.
TEST(AggregatorServer, LeavesNoGaugesBehind) {
  AggregatorServer::Options options;
  ASSERT_TRUE(set_parameter(options.config, "single_node", "2").ok());
  options.node = "aggregator";
  options.host = "127.0.0.1";
  options.statistics = testing::TempDir() + "nezha-statistics-" + std::to_string(getpid());
  AggregatorServer server(options, Log());
  Notices notices;
  const Status status = server.open(notices);
  ASSERT_TRUE(status.ok()) << status.text();
  greet(server);
  ASSERT_EQ(server.service().clients(), 1U);
  ASSERT_EQ(unlink(options.statistics.c_str()), 0);
  server.stop();
  EXPECT_FALSE(server.run());
  std::string text;
  EXPECT_TRUE(read_file({options.statistics}, 10000, text).ok());
  EXPECT_NE(text.find("\nnezha_aggregator_clients 0\n"), std::string::npos) << text;
  unlink(options.statistics.c_str());
}

}  // namespace
}  // namespace nezha::test

extern "C" int fsync(int fd) {
  ++nezha::test::waits;
  static const auto system = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  return system(fd);
}
