// SPDX-License-Identifier: BSD-3-Clause
/// Fuzz target: a table file. What is refused has a place and a printable reason; what is taken is written and read
/// again without a difference, also after something was learned beside it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tuning/table_file.h"

#include "require.h"

namespace {

using namespace nezha;

void check_refusal(const Status& status, std::size_t size) {
  REQUIRE(!status.text().empty());
  REQUIRE(std::all_of(status.text().begin(), status.text().end(), [](char c) { return c >= ' ' && c <= '~'; }));
  REQUIRE(size > TableFile::kMostBytes || status.text().rfind("line ", 0) == 0);
}

void check_same(const TableFile& file) {
  TableFile again;
  REQUIRE(parse_table(write_table(file), again).ok());
  REQUIRE(again == file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TableFile file;
  const Status status = parse_table({reinterpret_cast<const char*>(data), size}, file);
  if (!status.ok()) {
    check_refusal(status, size);
    REQUIRE(file == TableFile());
    return 0;
  }
  check_same(file);
  const Shape shape{4, 2};
  Rule learned;
  learned.first = learned.last = 16;
  learned.chosen = {AlgorithmChoice::mesh};
  file.keep(shape, learned);
  REQUIRE(*find_rule(*file.find(shape), 16) == learned);
  return 0;
}
