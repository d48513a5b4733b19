// SPDX-License-Identifier: BSD-3-Clause
/// Small files as a whole. Blocks on the file system. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "util/status.h"

namespace nezha {

/// A parameter that names a file; empty = none.
struct FilePath {
  std::string text;

  bool empty() const { return text.empty(); }
  bool operator==(const FilePath&) const = default;
};

/// Any text without control characters that a path may have by its length.
Status parse(std::string_view text, FilePath& path);

/// The contents of a regular file of at most `most` bytes. Code::absent: there is no such file.
Status read_file(const FilePath& path, std::size_t most, std::string& contents);

/// Puts a file with these contents in the place of what is there, in one step and safely on the disk: who opens it sees
/// the old or the new one. Keeps the permissions of a file that it replaces, and a symbolic link that leads to it.
Status replace_file(const FilePath& path, std::string_view contents);

}  // namespace nezha
