// SPDX-License-Identifier: BSD-3-Clause
/// What an aggregation service does beside its operations, with a disk that is slow.
#include "engine/aggregation/aggregator_server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "engine/aggregation/greeting.h"
#include "loopback.h"
#include "util/file.h"

namespace nezha::test {
namespace {

int waits = 0;  ///< for the disk

class AggregatorServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = server_.open(notices_);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  ~AggregatorServerTest() override { unlink(statistics_.c_str()); }

  AggregatorServer::Options options() const {
    AggregatorServer::Options options;
    EXPECT_TRUE(set_parameter(options.config, "single_node", "2").ok());
    options.node = "aggregator";
    options.host = "127.0.0.1";
    options.statistics = statistics_;
    return options;
  }

  /// As a rank does it.
  void greet() {
    const SystemClock clock;
    Fd fd = connect_to(server_.port());
    ASSERT_TRUE(fd);
    fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    Address rank = server_.core().self();
    rank.id += 1;
    rank.job_rank = 0;
    Greeting greeting(Greeting::Side::rank, std::move(fd), Secret{}, rank, clock.now() + 10 * kSecond);
    Greeting::State state = Greeting::State::pending;
    for (; state == Greeting::State::pending; state = greeting.step(clock.now())) server_.turn();
    EXPECT_EQ(state, Greeting::State::done) << greeting.why().text();
  }

  void expect_no_clients_in_statistics() const {
    std::string text;
    EXPECT_TRUE(read_file({statistics_}, 10000, text).ok());
    EXPECT_NE(text.find("\nnezha_aggregator_clients 0\n"), std::string::npos) << text;
  }

  const std::string statistics_ = testing::TempDir() + "nezha-statistics-" + std::to_string(getpid());
  AggregatorServer server_{options(), Log()};
  Notices notices_;
};

/// Ranks find no sign of life in a service that waits for half a second.
TEST_F(AggregatorServerTest, WaitsForNoDisk) {
  const int before = waits;
  server_.turn();
  expect_no_clients_in_statistics();
  EXPECT_EQ(waits, before);
}

/// Else monitoring sees for ever what it was doing at its end.
TEST_F(AggregatorServerTest, LeavesNoGaugesBehind) {
  greet();
  ASSERT_EQ(server_.service().clients(), 1U);
  ASSERT_EQ(unlink(statistics_.c_str()), 0);
  server_.stop();
  EXPECT_FALSE(server_.run());
  expect_no_clients_in_statistics();
}

}  // namespace
}  // namespace nezha::test

extern "C" int fsync(int fd) {
  ++nezha::test::waits;
  static const auto system = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  return system(fd);
}
