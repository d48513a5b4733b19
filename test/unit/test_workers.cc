// SPDX-License-Identifier: BSD-3-Clause
/// Rails' workers: which rails get one and where, and the threads that run tasks.
#include <gtest/gtest.h>
#include <sched.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "engine/service_tasks.h"
#include "engine/worker_plan.h"
#include "engine/worker_thread.h"

namespace nezha {
namespace {

/// Two packages of four cores with two hardware threads each (core n: 2n and 2n + 1); eth0 is near the first, eth1 near
/// the second, eth2 hangs on the machine.
std::string machine() {
  const auto nic = [](const char* name, int index) {
    const std::string i = std::to_string(index);
    return R"(<object type="Bridge" gp_index="10)" + i + R"(" bridge_type="0-1" depth="0" bridge_pci="0000:[0)" + i + "-0" + i +
           R"(]"><object type="PCIDev" gp_index="20)" + i + R"(" pci_busid="0000:0)" + i +
           R"(:00.0" pci_type="0200 [8086:1521] [8086:0000] 00" pci_link_speed="0.000000"><object type="OSDev" gp_index="30)" + i +
           R"(" name=")" + name + R"(" osdev_type="2"/></object></object>)";
  };
  const auto sets = [](const char* which, const std::string& mask) {
    std::string text;
    for (const char* name : {"cpuset", "complete_cpuset"}) text += std::string(" ") + name + "=\"" + mask + "\"";
    return text + " " + which;
  };
  const std::string memory = R"(nodeset="0x1" complete_nodeset="0x1")";
  std::string text = R"(<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">)";
  text += "<object type=\"Machine\" os_index=\"0\" gp_index=\"1\"" + sets(memory.c_str(), "0x0000ffff") +
          R"( allowed_cpuset="0x0000ffff" allowed_nodeset="0x1">)";
  text += "<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" local_memory=\"1024\"" + sets(memory.c_str(), "0x0000ffff") + "/>";
  const auto hex = [](unsigned mask) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "0x%08x", mask);
    return std::string(digits);
  };
  for (unsigned package = 0; package < 2; ++package) {
    text += "<object type=\"Package\" os_index=\"" + std::to_string(package) + "\" gp_index=\"" + std::to_string(3 + package) + "\"" +
            sets(memory.c_str(), hex(0xffU << 8 * package)) + ">";
    for (unsigned core = 4 * package; core < 4 * package + 4; ++core) {
      text += "<object type=\"Core\" os_index=\"" + std::to_string(core) + "\" gp_index=\"" + std::to_string(10 + core) + "\"" +
              sets(memory.c_str(), hex(3U << 2 * core)) + ">";
      for (unsigned thread = 2 * core; thread < 2 * core + 2; ++thread)
        text += "<object type=\"PU\" os_index=\"" + std::to_string(thread) + "\" gp_index=\"" + std::to_string(30 + thread) + "\"" +
                sets(memory.c_str(), hex(1U << thread)) + "/>";
      text += "</object>";
    }
    text += nic(package == 0 ? "eth0" : "eth1", static_cast<int>(package + 1)) + "</object>";
  }
  return text + nic("eth2", 3) + "</object></topology>";
}

Cores range(unsigned low, unsigned high) {
  Cores cores;
  for (unsigned core = low; core <= high; ++core) cores.push_back(core);
  return cores;
}

class Planned {
 public:
  Planned(const char* threads, const char* cores, const Cores& allowed, std::uint32_t local_ranks) {
    Config config;
    EXPECT_TRUE(set_parameter(config, "rail_threads", threads).ok());
    EXPECT_TRUE(set_parameter(config, "rail_cores", cores).ok());
    std::vector<RailAddress> rails(2);
    rails[0].name = "eth0", rails[1].name = "eth1";
    places = plan_workers(config, rails, Topology(machine(), allowed), local_ranks, "n0", notices);
  }

  std::vector<WorkerPlace> places;
  Notices notices;
};

using Places = std::vector<WorkerPlace>;

TEST(Topology, KnowsWhatIsNear) {
  const Topology all(machine(), range(0, 15));
  EXPECT_EQ(all.allowed_cores(), 8u);
  EXPECT_EQ(all.near("eth0"), range(0, 7));
  EXPECT_EQ(all.near("eth1"), range(8, 15));
  EXPECT_EQ(all.near("eth2"), range(0, 15));
  EXPECT_EQ(all.near("eth9"), range(0, 15));
  const Topology part(machine(), {1, 2, 3, 12});
  EXPECT_EQ(part.allowed_cores(), 3u) << "one hardware thread of a core counts as the core";
  EXPECT_EQ(part.near("eth0"), (Cores{1, 2, 3}));
  EXPECT_EQ(part.near("eth1"), Cores{12});
  EXPECT_EQ(Topology(machine(), {1, 2}).near("eth1"), (Cores{1, 2})) << "what the process may use, however far";
}

TEST(Topology, OfThisMachine) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const Topology here;
  EXPECT_EQ(here.allowed().size(), static_cast<std::size_t>(CPU_COUNT(&set)));
  EXPECT_GE(here.allowed_cores(), 1u);
  EXPECT_EQ(here.near("lo"), here.allowed());
  const Topology broken("<nothing>", {0});
  EXPECT_EQ(broken.allowed_cores(), 0u);
  EXPECT_EQ(broken.near("eth0"), Cores{0});
}

TEST(WorkerPlan, AutoOnlyWhereEachRailHasACoreToSpare) {
  const Places near{{0, range(0, 7)}, {1, range(8, 15)}};
  EXPECT_EQ(Planned("auto", "", range(0, 15), 1).places, near);
  EXPECT_EQ(Planned("auto", "", range(0, 15), 2).places, near) << "8 cores, 2 ranks: 4 each, one of them the caller's";
  EXPECT_EQ(Planned("auto", "", range(0, 15), 3).places, Places());
  EXPECT_EQ(Planned("auto", "", range(0, 5), 1).places, (Places{{0, range(0, 5)}, {1, range(0, 5)}}));
  EXPECT_EQ(Planned("auto", "", range(0, 3), 1).places, Places()) << "two cores, however many hardware threads";
  EXPECT_EQ(Planned("auto", "", range(0, 15), 0).places, Places()) << "nobody knows how many ranks share them";
  EXPECT_EQ(Planned("1", "", {0}, 64).places, (Places{{0, {0}}, {1, {0}}}));
  EXPECT_EQ(Planned("0", "eth0=0", range(0, 15), 1).places, Places());
}

TEST(WorkerPlan, AListCountsWhereItCanBeKept) {
  EXPECT_EQ(Planned("1", "eth0=2-3;eth1=4", range(0, 15), 1).places, (Places{{0, {2, 3}}, {1, {4}}}));
  EXPECT_EQ(Planned("1", "eth1=4", range(0, 15), 1).places, (Places{{0, range(0, 7)}, {1, {4}}}));
  const Planned named("auto", "eth1=4", range(0, 5), 8);
  EXPECT_EQ(named.places, (Places{{1, {4}}})) << "whoever names cores for a rail has them to spare";
  EXPECT_TRUE(named.notices.empty());
}

TEST(WorkerPlan, ARefusedListIsTold) {
  const Planned forced("1", "eth0=2,9", range(0, 7), 1);
  EXPECT_EQ(forced.places, (Places{{0, range(0, 7)}, {1, range(0, 7)}}));
  ASSERT_EQ(forced.notices.size(), 1u);
  EXPECT_EQ(forced.notices[0].topic, "cores outside the cpuset");
  EXPECT_EQ(forced.notices[0].arguments, (std::vector<std::string>{"eth0", "n0", "2,9", "0-7", "a thread bound to 0-7"}));
  const Planned spare("auto", "eth0=9", range(0, 3), 2);
  EXPECT_TRUE(spare.places.empty());
  ASSERT_EQ(spare.notices.size(), 1u);
  EXPECT_EQ(spare.notices[0].arguments.back(), "no thread for this rail");
  const Planned unknown("auto", "ib0=1", range(0, 3), 2);
  ASSERT_EQ(unknown.notices.size(), 1u);
  EXPECT_EQ(unknown.notices[0].topic, "no such rail for cores");
  EXPECT_EQ(unknown.notices[0].arguments, (std::vector<std::string>{"ib0", "n0", "eth0, eth1"}));
}

/// Waits inside run() until the test lets it go.
class Gate final : public Task {
 public:
  void run() override {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    ++left;
  }
  void await_entry(int times = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_ >= times; });
  }
  void open() {
    const std::lock_guard guard(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  int left = 0;  ///< read after cancel()

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int entered_ = 0;
  bool open_ = false;
};

TEST(WorkerThread, RunsTasksOnceAndCancelsThem) {
  WorkerThread worker;
  ASSERT_TRUE(worker.start("nezha-test"));
  Gate first, second, third, unsubmitted;
  worker.submit(first);
  first.await_entry();
  worker.submit(second);
  worker.submit(third);
  EXPECT_FALSE(worker.cancel(second)) << "it had not begun";
  EXPECT_TRUE(worker.cancel(unsubmitted));
  first.open();
  third.open();
  EXPECT_TRUE(worker.cancel(first));
  EXPECT_EQ(first.left, 1);
  third.await_entry();
  EXPECT_TRUE(worker.cancel(third));
  EXPECT_EQ(third.left, 1);
  EXPECT_EQ(second.left, 0);
  first.open();
  worker.submit(first);
  first.await_entry(2);
  EXPECT_TRUE(worker.cancel(first));
  EXPECT_EQ(first.left, 2);
}

TEST(WorkerThread, ManyTasksWithPausesInBetween) {
  WorkerThread worker;
  ASSERT_TRUE(worker.start("nezha-test"));
  for (int i = 0; i < 2000; ++i) {
    Gate task;
    task.open();
    worker.submit(task);
    if (i % 500 == 0) task.await_entry();
    const bool ran = worker.cancel(task);
    EXPECT_EQ(task.left, ran ? 1 : 0);
  }
}

TEST(WorkerThread, IsBound) {
  const Topology here;
  const Cores last{here.allowed().back()};
  WorkerThread worker;
  ASSERT_TRUE(worker.start("nezha-test"));
  ASSERT_TRUE(here.bind(worker.handle(), last));
  cpu_set_t set;
  ASSERT_EQ(pthread_getaffinity_np(worker.handle(), sizeof set, &set), 0);
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(last[0], &set));
  EXPECT_FALSE(here.bind(worker.handle(), {}));
}

TEST(ServiceTasks, RunOnTheThreadThatIsWokenForThem) {
  int woken = 0;
  ServiceTasks tasks([&] { ++woken; });
  EXPECT_FALSE(tasks.run());
  Gate first, second, third;
  tasks.submit(first);
  tasks.submit(second);
  tasks.submit(third);
  EXPECT_EQ(woken, 3);
  EXPECT_FALSE(tasks.cancel(second)) << "it had not begun";
  first.open();
  std::thread service([&] { EXPECT_TRUE(tasks.run()); });
  third.await_entry();
  third.open();
  EXPECT_TRUE(tasks.cancel(third)) << "waits for its end";
  EXPECT_EQ(third.left, 1);
  EXPECT_EQ(first.left, 1);
  EXPECT_EQ(second.left, 0);
  service.join();
}

}  // namespace
}  // namespace nezha
