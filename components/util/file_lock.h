// SPDX-License-Identifier: BSD-3-Clause
/// Excludes the other writers of a file that is read, changed and replaced (replace_file()): threads, processes and,
/// where the file system has locks, other nodes. The lock is a flock() on FILE.lock beside the file, because the file
/// itself is replaced. Its owner removes FILE.lock; one that a killed process left behind holds nobody up. Where the
/// file system has no locks, everybody is let in. Blocks on the file system, but never waits for another owner. Any
/// thread.
#pragma once

#include <string>
#include <utility>

#include "util/fd.h"
#include "util/file.h"
#include "util/status.h"

namespace nezha {

class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { release(); }

  /// One try. Code::busy: another owner has it. Other errors mean that no file can be made beside `file`.
  Status take(const FilePath& file);
  void release();

 private:
  Fd held_;
  std::string path_;  ///< of what is locked
};

}  // namespace nezha
