// SPDX-License-Identifier: BSD-3-Clause
/// What is written down of a job, line by line, on a clock of our own.
#include "engine/trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "small_files.h"

namespace nezha {
namespace {

class OwnClock final : public Clock {
 public:
  Nanoseconds now() const override { return time; }
  Nanoseconds time = kSecond;
};

const std::vector<GivenParameter> kGiven = {{"learn", "0"}, {"rail_include", "\"eth0\""}};

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() : path_("trace-test-" + std::to_string(getpid())) {
    add_rail("eth0");
    add_rail("eth1");
    trace_ = Trace::open(path_, {"n\"0", "./a \"b\"", kGiven}, clock_, loads_, rails_, why_);
  }
  ~TraceTest() override { unlink(path_.c_str()); }

  void add_rail(const char* name) {
    RailAddress rail;
    rail.transport = "tcp";
    rail.name = name;
    rails_.push_back(rail);
    loads_.emplace_back();
  }
  /// A call of `bytes` that took `took`, the first rail carrying them all.
  void call(std::size_t bytes, Nanoseconds took, Candidate way = {AlgorithmChoice::ring, 0}, std::size_t aggregated = 0) {
    const Nanoseconds began = clock_.time;
    clock_.time += took;
    loads_[0].bytes_sent += bytes;
    trace_->call(began, bytes, 4, way, {}, {bytes}, aggregated);
  }
  std::vector<std::string> lines() {
    EXPECT_TRUE(trace_->write(trace_->take()).ok());
    std::ifstream file(path_);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  }

  const std::string path_;
  OwnClock clock_;
  std::deque<RailLoad> loads_;
  std::vector<RailAddress> rails_;
  Status why_;
  std::unique_ptr<Trace> trace_;
};

TEST_F(TraceTest, BeginsWithWhatItIs) {
  EXPECT_EQ(lines().at(0), R"({"kind":"start","format":1,"version":")" NEZHA_VERSION R"(","node":"n\"0","tick_ms":50,)"
                           R"("command":"./a \"b\"","parameters":{"learn":"0","rail_include":"\"eth0\""}})");
}

TEST_F(TraceTest, CallsAndTheirRails) {
  call(1000, 2 * kMicrosecond);
  EXPECT_EQ(lines().at(1), R"({"kind":"rails","names":["tcp/eth0","tcp/eth1"]})");
  EXPECT_EQ(lines().at(2),
            R"({"kind":"call","t":0.000,"ranks":4,"bytes":1000,"us":2.000,"way":"ring","sent":[1000,0]})");
}

TEST_F(TraceTest, TrafficIsWrittenOnceATickAndOnlyWhereThereWasSome) {
  loads_[1].bytes_received = 7;
  trace_->tick(clock_.time + 49 * kMillisecond);
  EXPECT_EQ(lines().size(), 1U);
  trace_->tick(clock_.time + 50 * kMillisecond);
  EXPECT_EQ(lines().back(), R"({"kind":"traffic","t":50.000,"sent":[0,0],"received":[0,7]})");
  trace_->tick(clock_.time + 100 * kMillisecond);
  EXPECT_EQ(lines().back(), R"({"kind":"traffic","t":50.000,"sent":[0,0],"received":[0,7]})");
}

TEST_F(TraceTest, WhatIsBeforeAPauseKeepsItsTime) {
  trace_->tick(clock_.time += 60 * kMillisecond);
  for (int i = 0; i < 513; ++i) call(1000, 10 * kMicrosecond);
  clock_.time += 5 * kSecond;
  trace_->tick(clock_.time);
  std::vector<std::string> found = lines();
  EXPECT_EQ(found.at(found.size() - 2), R"({"kind":"traffic","t":65.130,"sent":[513000,0],"received":[0,0]})");
  EXPECT_NE(found.back().find(R"("kind":"calls","t":65.130,)"), std::string::npos) << found.back();
  loads_[0].bytes_sent += 7;  // in a pause that nobody saw begin
  trace_->tick(clock_.time += kSecond);
  EXPECT_EQ(lines().back(), R"({"kind":"traffic","t":6065.130,"sent":[7,0],"received":[0,0]})");
}

TEST_F(TraceTest, ManyCallsOfASizeShareALine) {
  for (int i = 0; i < 512; ++i) call(1024, kMicrosecond);
  const std::size_t singly = lines().size();
  for (int i = 1; i <= 3; ++i) call(1024, i * 2 * kMicrosecond);
  EXPECT_EQ(lines().size(), singly);
  call(1025, 4 * kMicrosecond, {AlgorithmChoice::mesh, 0});  // another way: what went before is closed
  EXPECT_NE(lines().back().find(R"("class":10,"calls":3,"us":4.000,"least_us":2.000,"way":"ring","sent":[3072,0])"),
            std::string::npos)
      << lines().back();
  trace_.reset();  // the rest comes at the end
  std::ifstream file(path_);
  std::stringstream all;
  all << file.rdbuf();
  EXPECT_NE(all.str().find(R"("calls":1,"us":4.000,"least_us":4.000,"way":"mesh")"), std::string::npos);
}

TEST_F(TraceTest, PartsThatWentThroughAnAggregator) {
  call(1000, kMicrosecond, {AlgorithmChoice::ring, 0}, 250);
  EXPECT_NE(lines().back().find(R"("sent":[1000,0],"aggregated":0.2500})"), std::string::npos) << lines().back();
  for (int i = 0; i < 511; ++i) call(1000, kMicrosecond);
  call(1000, kMicrosecond, {AlgorithmChoice::ring, 0}, 500);
  call(1000, kMicrosecond);
  trace_->tick(clock_.time + 50 * kMillisecond);
  EXPECT_NE(lines().back().find(R"("calls":2,)"), std::string::npos) << lines().back();
  EXPECT_NE(lines().back().find(R"("aggregated":0.2500})"), std::string::npos) << lines().back();
}

TEST_F(TraceTest, StagesOfMemoryWhereCallsWentThroughIt) {
  trace_->memory({});
  EXPECT_EQ(lines().size(), 1U);
  clock_.time += 7 * kMillisecond;
  trace_->memory({.calls = 3, .bytes = 4096, .time_ns = 9000, .copied_in_ns = 1000, .reduced_ns = 2000, .gathered_ns = 500,
                  .between_ns = 6000, .shared_ns = 1500});
  EXPECT_EQ(lines().back(), R"({"kind":"memory","t":7.000,"calls":3,"bytes":4096,"us":9.000,"copied_in_us":1.000,"reduced_us":2.000,)"
                            R"("gathered_us":0.500,"between_us":6.000,"shared_us":1.500})");
}

TEST_F(TraceTest, LanesAndNewRails) {
  trace_->tick(clock_.time + 50 * kMillisecond);
  add_rail("eth2");
  trace_->lane("lost", "tcp/eth1 - tcp/eth1", "rank 1 on n1", "no \"carrier\"\n");
  trace_->tick(clock_.time + 100 * kMillisecond);
  const std::vector<std::string> found = lines();
  EXPECT_EQ(found.at(2), R"({"kind":"lane","t":0.000,"event":"lost","lane":"tcp/eth1 - tcp/eth1",)"
                         R"("peer":"rank 1 on n1","why":"no \"carrier\"?"})");
  EXPECT_EQ(found.at(3), R"({"kind":"rails","names":["tcp/eth0","tcp/eth1","tcp/eth2"]})");
}

TEST_F(TraceTest, TheFileIsBounded) {
  const std::string long_text(3000, 'x');
  for (int i = 0; i < 20000; ++i) {
    trace_->lane("lost", "a", "b", long_text);
    ASSERT_TRUE(trace_->write(trace_->take()).ok());
  }
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_LT(info.st_size, 33 << 20);
  EXPECT_EQ(lines().back(), R"({"kind":"full","t":0.000})");
}

TEST_F(TraceTest, AFullDiskIsToldOnce) {
  const SmallFiles full(1000);
  trace_->lane("lost", "a", "b", std::string(2000, 'x'));
  EXPECT_EQ(trace_->write(trace_->take()).text(), path_ + " cannot be written any more: File too large");
  trace_->lane("lost", "a", "b", "more");
  EXPECT_TRUE(trace_->write(trace_->take()).ok());
}

TEST_F(TraceTest, AFileThatCannotBeMadeIsReported) {
  EXPECT_EQ(Trace::open("/nonexistent/trace", {"n0", {}, {}}, clock_, loads_, rails_, why_), nullptr);
  EXPECT_EQ(why_.text(), "/nonexistent/trace cannot be written: No such file or directory");
}

TEST_F(TraceTest, AFileThatAnotherWritesIsLeftToIt) {
  call(1000, kMicrosecond);
  const std::vector<std::string> before = lines();
  EXPECT_EQ(Trace::open(path_, {"n1", {}, {}}, clock_, loads_, rails_, why_), nullptr);
  EXPECT_EQ(why_.text(), path_ + " cannot be written: another process writes it");
  EXPECT_EQ(lines(), before);
  trace_.reset();
  trace_ = Trace::open(path_, {"n1", {}, {}}, clock_, loads_, rails_, why_);
  ASSERT_NE(trace_, nullptr);
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(TraceTest, APipeIsRefusedAndNothingWaitsForItsOtherEnd) {
  const std::string pipe = path_ + "-pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Trace::open(pipe, {"n0", {}, {}}, clock_, loads_, rails_, why_), nullptr);
  EXPECT_EQ(why_.text(), pipe + " is no regular file");
  const Fd reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(Trace::open(pipe, {"n0", {}, {}}, clock_, loads_, rails_, why_), nullptr) << "there is a reader now";
  EXPECT_EQ(why_.text(), pipe + " is no regular file");
  unlink(pipe.c_str());
  EXPECT_EQ(Trace::open("/dev/null", {"n0", {}, {}}, clock_, loads_, rails_, why_), nullptr);
  EXPECT_EQ(why_.text(), "/dev/null is no regular file");
}

}  // namespace
}  // namespace nezha
