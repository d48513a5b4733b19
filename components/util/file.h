// SPDX-License-Identifier: BSD-3-Clause
/// Small files as a whole. Blocks on the file system. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "util/fd.h"
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

/// Where the symbolic links lead to that the path ends in; the path itself where it ends in none. Refuses links of other users in
/// directories such as /tmp, as kernels do that protect from them, for what is written by this path is known by the file's name.
Status follow_links(const std::string& path, std::string& target);

/// Opens what has to be a regular file with open()'s `flags`, close-on-exec, and does not wait where it is a pipe. A file that
/// is made gets the permissions that the umask leaves. The reason of a failure begins with `what`. Code::absent: there is none.
Status open_regular(const std::string& path, int flags, const char* what, Fd& file);

/// The contents of a regular file of at most `most` bytes. Code::absent: there is no such file.
Status read_file(const FilePath& path, std::size_t most, std::string& contents);

/// What is to be known of a file once it is replaced.
enum class Written {
  safely,  ///< it is on the disk, for which this waits
  soon,    ///< the system writes it when it likes
};

/// Puts a file with these contents in the place of what is there, in one step: who opens it sees the old or the new one. Keeps
/// the permissions of a file that it replaces, as root its owner too, and a symbolic link that leads to it.
Status replace_file(const FilePath& path, std::string_view contents, Written written = Written::safely);

}  // namespace nezha
