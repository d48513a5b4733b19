// SPDX-License-Identifier: BSD-3-Clause
/// How many processors a node's ranks have, by what launchers and containers make of the machine.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/affinity.h"

namespace nezha {
namespace {

std::size_t online() { return static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)); }

/// What a child process counts after prepare(). 0: that has failed.
template <typename Prepare>
std::size_t in_a_child(const Prepare& prepare) {
  const pid_t child = fork();
  if (child == 0) _exit(prepare() ? static_cast<int>(processors_of_all()) : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return static_cast<std::size_t>(WEXITSTATUS(status));
}

bool bind_to_one_processor() {
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) return Affinity().count() == 1;
  }
  return false;
}

TEST(Processors, OfAllAreMoreThanALauncherBindsOneRankTo) {
  const std::size_t all = processors_of_all();
  EXPECT_GE(all, Affinity().count());
  EXPECT_LE(all, online());
  EXPECT_EQ(in_a_child(bind_to_one_processor), all);
}

TEST(Processors, AreAskedForByAThreadOfItsOwn) {
  const std::size_t all = processors_of_all();
  EXPECT_EQ(in_a_child([] {
              if (!bind_to_one_processor()) return false;
              processors_of_all();
              return Affinity().count() == 1;
            }),
            all);
}

/// A control group for this test with the first processor of this process, as a container has one. Not ok(): it may not be made here.
class Cpuset {
 public:
  Cpuset() {
    const std::string name = "/nezha-test-" + std::to_string(getpid());
    for (const char* root : {"/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"}) {  // version 1, version 2
      path_ = root + name;
      if (mkdir(path_.c_str(), 0755) != 0) continue;
      std::ifstream nodes(std::string(root) + "/cpuset.mems");
      std::string memory;
      if (nodes >> memory) write("cpuset.mems", memory);
      if (write("cpuset.cpus", "0")) return;
      rmdir(path_.c_str());
    }
    path_.clear();
  }
  ~Cpuset() {
    if (ok()) rmdir(path_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  bool enter() const { return write("cgroup.procs", "0"); }

 private:
  bool write(const char* file, const std::string& text) const {
    std::ofstream out(path_ + "/" + file);
    return static_cast<bool>(out << text << std::flush);
  }

  std::string path_;
};

TEST(Processors, OfAllAreThoseOfTheCpuset) {
  const Cpuset group;
  if (!group.ok()) GTEST_SKIP() << "no control group may be made here";
  EXPECT_EQ(in_a_child([&] { return group.enter(); }), 1u);
}

}  // namespace
}  // namespace nezha
