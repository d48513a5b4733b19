// SPDX-License-Identifier: BSD-3-Clause
/// Checksum, bytes in memory, random numbers and the log.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/bytes.h"
#include "util/clock.h"
#include "util/crc32c.h"
#include "util/log.h"
#include "util/nearest_word.h"
#include "util/random.h"

namespace nezha {
namespace {

using Checksum = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t);
constexpr Checksum kChecksums[] = {crc32c, crc32c_portable};

std::uint32_t of(Checksum checksum, const std::vector<std::uint8_t>& bytes) {
  return checksum(0, std::as_bytes(std::span(bytes)).data(), bytes.size());
}

/// The vectors of RFC 3720, appendix B.4, and the customary check value.
TEST(Crc32c, KnownValues) {
  std::vector<std::uint8_t> rising(32), falling(32);
  std::iota(rising.begin(), rising.end(), 0);
  std::iota(falling.rbegin(), falling.rend(), 0);
  const char* const digits = "123456789";
  for (const Checksum checksum : kChecksums) {
    EXPECT_EQ(checksum(0, nullptr, 0), 0u);
    EXPECT_EQ(of(checksum, std::vector<std::uint8_t>(32, 0)), 0x8a9136aau);
    EXPECT_EQ(of(checksum, std::vector<std::uint8_t>(32, 0xff)), 0x62a8ab43u);
    EXPECT_EQ(of(checksum, rising), 0x46dd794eu);
    EXPECT_EQ(of(checksum, falling), 0x113fdb5cu);
    EXPECT_EQ(checksum(0, reinterpret_cast<const std::byte*>(digits), 9), 0xe3069283u);
  }
}

TEST(Crc32c, PartsAndAlignmentsMakeNoDifference) {
  std::vector<std::byte> bytes(300);
  ASSERT_TRUE(random_bytes(bytes).ok());
  for (std::size_t start = 0; start < 9; ++start) {
    const std::size_t size = bytes.size() - start;
    const std::uint32_t whole = crc32c_portable(0, bytes.data() + start, size);
    EXPECT_EQ(crc32c(0, bytes.data() + start, size), whole);
    for (std::size_t cut = 0; cut <= size; ++cut) {
      for (const Checksum checksum : kChecksums) {
        const std::uint32_t first = checksum(0, bytes.data() + start, cut);
        ASSERT_EQ(checksum(first, bytes.data() + start + cut, size - cut), whole) << start << " " << cut;
      }
    }
  }
}

TEST(Crc32c, EveryBitCounts) {
  std::vector<std::byte> bytes(70, std::byte{0x5a});
  std::set<std::uint32_t> seen{crc32c(0, bytes.data(), bytes.size())};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const std::byte mask{static_cast<std::uint8_t>(1u << bit % 8)};
    bytes[bit / 8] ^= mask;
    EXPECT_TRUE(seen.insert(crc32c(0, bytes.data(), bytes.size())).second) << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(Bytes, LittleEndianAtAnyAddress) {
  std::byte bytes[20] = {};
  store_le<std::uint64_t>(bytes + 3, 0x0102030405060708u);
  EXPECT_EQ(bytes[2], std::byte{0});
  EXPECT_EQ(bytes[3], std::byte{8});
  EXPECT_EQ(bytes[10], std::byte{1});
  EXPECT_EQ(bytes[11], std::byte{0});
  EXPECT_EQ(load_le<std::uint64_t>(bytes + 3), 0x0102030405060708u);
  EXPECT_EQ(load_le<std::uint32_t>(bytes + 3), 0x05060708u);
  EXPECT_EQ(load_le<std::uint16_t>(bytes + 9), 0x0102u);
  EXPECT_EQ(load_le<std::uint8_t>(bytes + 4), 7u);
}

TEST(Times, TheSoonerOneCountsUnlessItIsNever) {
  EXPECT_EQ(sooner(3, 5), 3);
  EXPECT_EQ(sooner(5, 3), 3);
  EXPECT_EQ(sooner(0, 5), 5);
  EXPECT_EQ(sooner(5, 0), 5);
  EXPECT_EQ(sooner(0, 0), 0);
}

TEST(Random, FillsEverythingAndNeverRepeats) {
  std::vector<std::byte> bytes(1000);
  ASSERT_TRUE(random_bytes(bytes).ok());
  std::set<std::byte> kinds(bytes.begin(), bytes.end());
  EXPECT_GT(kinds.size(), 200u);
  EXPECT_FALSE(std::all_of(bytes.end() - 16, bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_TRUE(random_bytes({}).ok());

  std::set<std::uint64_t> ids{0};
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t id = 0;
    ASSERT_TRUE(random_id(id).ok());
    EXPECT_TRUE(ids.insert(id).second);
  }
}

struct Sunk {
  int level = -1;
  std::string line;
  int lines = 0;
};

void sink(void* ctx, int level, const char* line) {
  Sunk& sunk = *static_cast<Sunk*>(ctx);
  sunk = {level, line, sunk.lines + 1};
}

TEST(Log, FormatsWhatIsOn) {
  Sunk sunk;
  const Log log(sink, &sunk, 2);
  log.line(2, "rail %s is %d %%", "tcp/eth0", 7);
  EXPECT_EQ(sunk.level, 2);
  EXPECT_EQ(sunk.line, "rail tcp/eth0 is 7 %");
  log.line(3, "no");
  EXPECT_EQ(sunk.lines, 1);
  Log().line(0, "nowhere");
}

TEST(Log, LongLinesEndInDots) {
  Sunk sunk;
  const Log log(sink, &sunk, 0);
  log.line(0, "%s", std::string(1023, 'x').c_str());
  EXPECT_EQ(sunk.line, std::string(1023, 'x'));
  log.line(0, "%s", std::string(5000, 'x').c_str());
  std::string cut(1020, 'x');
  cut += "...";
  EXPECT_EQ(sunk.line, cut);
}

// ---- words that were meant -------------------------------------------------------------------------------------------

TEST(NearestWord, EditsAreCounted) {
  EXPECT_EQ(edits_between("", ""), 0u);
  EXPECT_EQ(edits_between("", "abc"), 3u);
  EXPECT_EQ(edits_between("abc", ""), 3u);
  EXPECT_EQ(edits_between("rail", "raill"), 1u);
  EXPECT_EQ(edits_between("rail", "nail"), 1u);
  EXPECT_EQ(edits_between("kitten", "sitting"), 3u);
}

TEST(NearestWord, TheNearestOfThoseThatAreNear) {
  const std::vector<std::string_view> words = {"rail_include", "rail_exclude", "report"};
  EXPECT_EQ(nearest_word("raill_include", words), 0u);
  EXPECT_EQ(nearest_word("rail_exlude", words), 1u);
  EXPECT_EQ(nearest_word("report", words), 2u);
  EXPECT_EQ(nearest_word("reprot", words), 2u);
  EXPECT_EQ(nearest_word("bandwidth", words), words.size());
  EXPECT_EQ(nearest_word("", words), words.size());
}

}  // namespace
}  // namespace nezha
