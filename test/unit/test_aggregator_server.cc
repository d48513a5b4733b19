// SPDX-License-Identifier: BSD-3-Clause
/// What an aggregation service does beside its operations, with a disk that is slow.
#include "engine/aggregation/aggregator_server.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "util/file.h"

namespace nezha::test {
namespace {

int waits = 0;  ///< for the disk

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

}  // namespace
}  // namespace nezha::test

extern "C" int fsync(int fd) {
  ++nezha::test::waits;
  static const auto system = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  return system(fd);
}
