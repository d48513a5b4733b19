// SPDX-License-Identifier: BSD-3-Clause
/// Files read and replaced as a whole; what is no plain file is left alone.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "temporary_folder.h"
#include "util/file.h"
#include "util/file_lock.h"

namespace nezha {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  FilePath path(const std::string& name) const { return {directory_ / name}; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }
  static std::string contents(const FilePath& path) {
    std::string text;
    const Status status = read_file(path, 1000, text);
    EXPECT_TRUE(status.ok()) << status.text();
    return text;
  }

  TemporaryFolder folder_;
  const fs::path& directory_ = folder_.path();
};

TEST_F(Files, AreReplacedAsAWhole) {
  const FilePath file = path("a");
  std::string text = "before";
  EXPECT_EQ(read_file(file, 10, text).code(), Code::absent);
  EXPECT_EQ(text, "before");
  ASSERT_TRUE(replace_file(file, "one").ok());
  EXPECT_EQ(contents(file), "one");
  ASSERT_EQ(chmod(file.text.c_str(), 0640), 0);
  ASSERT_TRUE(replace_file(file, "two and more").ok());
  EXPECT_EQ(contents(file), "two and more");
  EXPECT_EQ(fs::status(file.text).permissions(), fs::perms(0640)) << "as before";
  EXPECT_EQ(entries(), 1u) << "nothing is left behind";
}

/// As where root tunes into a user's table.
TEST_F(Files, StayTheirOwners) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(replace_file(path("a"), "one").ok());
  ASSERT_EQ(chown(path("a").text.c_str(), 65534, 65534), 0);
  ASSERT_TRUE(replace_file(path("a"), "two").ok());
  struct stat about;
  ASSERT_EQ(stat(path("a").text.c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 65534u);
  EXPECT_EQ(about.st_gid, 65534u);
}

TEST_F(Files, BehindALinkAreReplacedThere) {
  ASSERT_TRUE(replace_file(path("real"), "one").ok());
  fs::create_symlink("real", path("link").text);
  ASSERT_TRUE(replace_file(path("link"), "two").ok());
  EXPECT_TRUE(fs::is_symlink(path("link").text));
  EXPECT_EQ(contents(path("real")), "two");
  fs::create_symlink("to come", path("first").text);
  fs::create_symlink(path("first").text, path("second").text);
  ASSERT_TRUE(replace_file(path("second"), "three").ok());
  EXPECT_EQ(contents(path("to come")), "three");
}

/// As one that somebody puts into /tmp because he knows under which name a table will be written.
TEST_F(Files, BehindALinkOfAStrangerAreLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make it";
  ASSERT_TRUE(replace_file(path("real"), "mine").ok());
  fs::create_directory(path("shared").text);
  ASSERT_EQ(chmod(path("shared").text.c_str(), 01777), 0);
  const FilePath link = path("shared/link");
  fs::create_symlink(path("real").text, link.text);
  ASSERT_TRUE(replace_file(link, "mine").ok());
  ASSERT_EQ(lchown(link.text.c_str(), 65534, 65534), 0);
  fs::create_symlink(link.text, path("to it").text);
  for (const FilePath& name : {link, path("to it")}) {
    const std::string why = "leads over " + link.text + ", another user's link where everyone may make one";
    EXPECT_EQ(replace_file(name, "x").text(), why);
    EXPECT_EQ(FileLock().take(name).text(), name.text + " " + why);
  }
  EXPECT_EQ(contents(path("real")), "mine");
  ASSERT_EQ(chmod(path("shared").text.c_str(), 0777), 0);
  EXPECT_TRUE(replace_file(link, "where anybody may do anything").ok());
}

TEST_F(Files, BehindLinksInACircleAreNotLookedForForEver) {
  fs::create_symlink("b", path("a").text);
  fs::create_symlink("a", path("b").text);
  EXPECT_EQ(replace_file(path("a"), "x").text(), "leads over too many links");
}

TEST_F(Files, LargerThanAllowedAreNotRead) {
  ASSERT_TRUE(replace_file(path("a"), std::string(100, 'x')).ok());
  std::string text;
  EXPECT_TRUE(read_file(path("a"), 100, text).ok());
  const Status status = read_file(path("a"), 99, text);
  EXPECT_EQ(status.text(), "has more than the 99 bytes that are allowed");
  EXPECT_EQ(text.size(), 100u);
}

TEST_F(Files, ThatAreNoneAreLeftAlone) {
  ASSERT_EQ(mkfifo(path("pipe").text.c_str(), 0600), 0);
  std::string text;
  for (const FilePath& other : {path("pipe"), FilePath{directory_}, FilePath{"/dev/null"}}) {
    EXPECT_EQ(read_file(other, 10, text).text(), "is no regular file") << other.text;
    EXPECT_EQ(replace_file(other, "x").text(), "is no regular file") << other.text;
  }
  const Status status = replace_file(path("nowhere/file"), "x");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "cannot make a file beside it: No such file or directory");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, HaveOneOwnerAtATime) {
  FileLock one, other;
  ASSERT_TRUE(one.take(path("a")).ok());
  fs::create_symlink("a", path("link").text);
  EXPECT_EQ(other.take(path("a")).code(), Code::busy);
  EXPECT_EQ(other.take(path("a")).text(), "another process has " + path("a").text + ".lock");
  ASSERT_TRUE(other.take(path("b")).ok()) << "another file";
  one.release();
  EXPECT_EQ(entries(), 2u) << "the link and the lock of b";
  std::ofstream(path("a").text + ".lock") << "left by a process that was killed";
  ASSERT_TRUE(replace_file(path("a"), "x").ok());
  ASSERT_TRUE(one.take(path("link")).ok());
  EXPECT_EQ(other.take(path("a")).code(), Code::busy) << "the link leads to the same file";
  EXPECT_EQ(FileLock().take(path("nowhere/a")).text(), path("nowhere/a.lock").text + " cannot be made: No such file or directory");
}

TEST_F(Files, ThatAreLockedInTurnAreNeverOwnedTwice) {
  std::atomic<int> owners = 0, taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (taken < 300) {
        FileLock lock;
        if (!lock.take(path("a")).ok()) continue;
        EXPECT_EQ(++owners, 1);
        ++taken;
        --owners;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entries(), 0u);
}

TEST(FilePaths, AreTextWithoutControlCharacters) {
  FilePath path;
  EXPECT_TRUE(parse("/a b/c.json", path).ok());
  EXPECT_EQ(path.text, "/a b/c.json");
  EXPECT_FALSE(parse("a\nb", path).ok());
  EXPECT_FALSE(parse(std::string(5000, 'a'), path).ok());
  EXPECT_EQ(path.text, "/a b/c.json");
  EXPECT_TRUE(parse("", path).ok());
  EXPECT_TRUE(path.empty());
}

}  // namespace
}  // namespace nezha
