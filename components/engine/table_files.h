// SPDX-License-Identifier: BSD-3-Clause
/// The table files of a process: what teams begin with, and what they have learned. Guarded by the engine's lock,
/// but for a copy that is saved; blocks on the file system, but in no call of a team that is ready.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/notices.h"
#include "tuning/rows.h"
#include "tuning/table.h"
#include "tuning/table_file.h"
#include "util/file.h"

namespace nezha {

class TableFiles {
 public:
  /// Reads `load` when it is first asked for, and writes `save`; empty paths: nothing is. `node` is for texts.
  TableFiles(FilePath load, FilePath save, std::string node);

  const FilePath& path() const { return load_; }
  /// What the file knows of teams of that shape, in the words of rows.h; none: nothing. `rails`: those of the team's rank 0.
  std::vector<std::uint64_t> rows(const Shape& shape, const RailNames& rails);
  /// After rows(): what they leave out for want of rails.
  Lacking lacking(const Shape& shape, const RailNames& rails) const { return nezha::lacking(*loaded_, shape, rails); }
  /// Why the file cannot be used, once.
  void complain(Notices& notices);

  bool saves() const { return !save_.empty(); }
  /// Keeps what a team has learned until save(). `own`: this process's rails, in the order of SizeClass::carried().
  void keep(const Shape& shape, const Table& table, const RailNames& own);
  /// Says whether save() would fail as things are. Changes nothing.
  void check(Notices& notices) const;
  /// Adds it to the file, one process after the other: sleeps while another one has the file, 10 s at most.
  void save(Notices& notices) const;

 private:
  Status merge() const;

  const FilePath load_, save_;
  const std::string node_;
  std::optional<TableFile> loaded_;  ///< none: not read yet
  Status trouble_;                   ///< with reading it
  TableFile learned_;
};

}  // namespace nezha
