// SPDX-License-Identifier: BSD-3-Clause
#include "engine/table_files.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "util/file_lock.h"

namespace nezha {
namespace {

constexpr int kMostTries = 200;  ///< to have the file's lock
constexpr Nanoseconds kBetweenTries = 50 * kMillisecond;

/// Another process has the lock for as long as it takes to write a small file.
Status wait_for(const FilePath& path, FileLock& lock) {
  for (int tries = 1;; ++tries) {
    const Status status = lock.take(path);
    if (status.code() != Code::busy) return status;
    if (tries == kMostTries)
      return {Code::timed_out, status.text() + ", for " + std::to_string(kMostTries * kBetweenTries / kSecond) + " s now"};
    const timespec moment{0, kBetweenTries};
    nanosleep(&moment, nullptr);
  }
}

/// Code::absent as read_file() has it.
Status read(const FilePath& path, TableFile& file) {
  std::string text;
  if (const Status status = read_file(path, TableFile::kMostBytes, text); !status.ok()) return status;
  return parse_table(text, file);
}

/// What save() is to add to; empty when there is no file yet.
Status read_saved(const FilePath& path, TableFile& file) {
  const Status status = read(path, file);
  if (status.ok() || status.code() == Code::absent) return {};
  return {status.code(), "what is there cannot be read as a table: " + status.text()};
}

std::vector<RailShare> shares(std::span<const std::uint64_t> carried, const RailNames& rails) {
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : carried) all += bytes;
  std::vector<RailShare> shares;
  for (std::size_t i = 0; all != 0 && i < std::min(carried.size(), rails.size()); ++i)
    shares.push_back(
        {rails[i], static_cast<std::uint32_t>(static_cast<double>(carried[i]) / static_cast<double>(all) * 65536)});
  return shares;
}

Rule rule_of(const SizeClass& one, std::size_t size_class, const RailNames& own) {
  Rule rule;
  rule.first = rule.last = size_class;
  rule.chosen = one.chosen();
  rule.calls = one.calls();
  for (std::size_t i = 0; i < one.candidates().size(); ++i)
    if (one.measured(i) <= kMostTime) rule.measured.push_back({one.candidates()[i], one.measured(i)});
  rule.shares = shares(one.carried(), own);
  return rule;
}

}  // namespace

TableFiles::TableFiles(FilePath load, FilePath save, std::string node)
    : load_(std::move(load)), save_(std::move(save)), node_(std::move(node)) {}

std::vector<std::uint64_t> TableFiles::rows(const Shape& shape, const RailNames& rails) {
  if (load_.empty()) return {};
  if (!loaded_) {
    loaded_.emplace();
    trouble_ = read(load_, *loaded_);
    if (trouble_.code() == Code::absent && load_ == save_) trouble_ = {};  // the first job of several
  }
  return rows_of(*loaded_, shape, rails);
}

void TableFiles::complain(Notices& notices) {
  if (const Status trouble = std::exchange(trouble_, {}); !trouble.ok())
    notices.push_back({"table refused", {load_.text, node_, trouble.text()}});
}

void TableFiles::keep(const Shape& shape, const Table& table, const RailNames& own) {
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const SizeClass* one = table.size_class(i);
    if (one == nullptr || !one->was_settled() || one->calls() == 0) continue;  // nothing that another job should begin with
    // Of several communicators of one shape the one that has called more knows more.
    const ShapeRules* before = learned_.find(shape);
    const Rule* known = before == nullptr ? nullptr : find_rule(*before, i);
    if (known == nullptr || known->calls <= one->calls()) learned_.keep(shape, rule_of(*one, i, own), table.rails());
  }
}

Status TableFiles::merge() const {
  if (learned_.shapes.empty()) return {Code::internal, "no message size was called often enough to be settled"};
  FileLock lock;
  if (Status status = wait_for(save_, lock); !status.ok()) return status;
  TableFile file;
  if (Status status = read_saved(save_, file); !status.ok()) return status;
  for (const ShapeRules& shape : learned_.shapes)
    for (const Rule& rule : shape.rules)
      if (!file.keep({shape.ranks.least, shape.nodes.least}, rule, learned_.rails))
        return {Code::internal, "it would name more than " + std::to_string(kMostRails) + " rails"};
  const std::string text = write_table(file);
  TableFile again;
  if (const Status sound = parse_table(text, again); !sound.ok())
    return {sound.code(), "it would become too large: " + sound.text()};
  return replace_file(save_, text);
}

void TableFiles::check(Notices& notices) const {
  if (save_.empty()) return;
  FileLock lock;
  TableFile file;
  Status status = lock.take(save_);
  if (status.ok() || status.code() == Code::busy) status = read_saved(save_, file);
  if (!status.ok()) notices.push_back({"table cannot be written", {save_.text, node_, status.text()}});
}

void TableFiles::save(Notices& notices) const {
  if (save_.empty()) return;
  if (const Status status = merge(); !status.ok())
    notices.push_back({"table not written", {save_.text, node_, status.text()}});
}

}  // namespace nezha
