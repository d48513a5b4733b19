// SPDX-License-Identifier: BSD-3-Clause
#include "util/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace nezha {
namespace {

Status trouble(const std::string& path, int error) {
  return {Code::io, path + " cannot be made: " + std::generic_category().message(error)};
}

bool without_locks(int error) { return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP; }

/// Whether the path still leads to the open file. Opens it anew, since NFS answers stat() from its cache.
bool leads_to(const std::string& path, const Fd& file) {
  const Fd again(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat a {
  }, b{};
  return again && fstat(again.get(), &a) == 0 && fstat(file.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

Status FileLock::take(const FilePath& file) {
  release();
  std::string path;
  if (const Status followed = follow_links(file.text, path); !followed.ok())
    return {Code::io, file.text + " " + followed.text()};
  path += ".lock";
  // For writing, because NFS makes of flock() a lock that needs it.
  Fd opened(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!opened) return trouble(path, errno);
  const int error = flock(opened.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (!without_locks(error)) {
    // ESTALE: on NFS, the owner before has removed the file. Who locks a file that was removed has locked nothing.
    const bool busy =
        error == EWOULDBLOCK || error == EINTR || error == ESTALE || (error == 0 && !leads_to(path, opened));
    if (busy) return {Code::busy, "another process has " + path};
    if (error != 0) return trouble(path, error);
  }
  held_ = std::move(opened);
  path_ = path;
  return {};
}

void FileLock::release() {
  if (!held_) return;
  unlink(path_.c_str());
  held_.reset();
}

}  // namespace nezha
