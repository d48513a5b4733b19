// SPDX-License-Identifier: BSD-3-Clause
#include "util/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "util/random.h"

namespace nezha {
namespace {

Status trouble(const char* what) {
  const int error = errno;
  return {error == ENOENT ? Code::absent : Code::io, std::string(what) + ": " + std::generic_category().message(error)};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

Status write_all(int fd, std::string_view rest, Written written) {
  while (!rest.empty()) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) return trouble("cannot write");
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return written == Written::soon || fsync(fd) == 0 ? Status() : trouble("cannot write");
}

/// `before`: the file whose place it is to take, or null.
Status write_new(const std::string& path, const struct stat* before, std::string_view contents, Written written) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return trouble("cannot make a file beside it");
  if (before != nullptr) {
    // Others may not, nor may root in a container or over NFS.
    static_cast<void>(fchown(file.get(), before->st_uid, before->st_gid) == 0);
    if (fchmod(file.get(), before->st_mode & 07777) != 0) return trouble("cannot set permissions");
  }
  return write_all(file.get(), contents, written);
}

/// Somebody else may have put the link there for this process to write where it leads: proc(5), protected_symlinks.
bool of_a_stranger(const std::filesystem::path& link, uid_t owner) {
  struct stat place;
  if (stat(directory_of(link.string()).c_str(), &place) != 0) return false;
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  return (place.st_mode & kShared) == kShared && owner != geteuid() && owner != place.st_uid;
}

}  // namespace

Status parse(std::string_view text, FilePath& path) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (text.size() >= PATH_MAX || std::any_of(text.begin(), text.end(), control))
    return {Code::bad_parameter,
            "a path has at most " + std::to_string(PATH_MAX - 1) + " bytes and no control characters"};
  path.text = text;
  return {};
}

Status follow_links(const std::string& path, std::string& target) {
  constexpr int kMostLinks = 40;  // as in the kernel
  std::filesystem::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat about;
    if (lstat(at.c_str(), &about) != 0 || !S_ISLNK(about.st_mode)) {
      target = at.string();
      return {};
    }
    if (of_a_stranger(at, about.st_uid))
      return {Code::io, "leads over " + at.string() + ", another user's link where everyone may make one"};
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error) return {Code::io, "is a link that cannot be read: " + error.message()};
    at = at.parent_path() / next;
  }
  return {Code::io, "leads over too many links"};
}

Status open_regular(const std::string& path, int flags, const char* what, Fd& file) {
  // Without O_NONBLOCK a pipe would wait for its other end; to write to one that has no reader is ENXIO with it.
  Fd opened(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666));
  struct stat about {};
  if (opened ? fstat(opened.get(), &about) != 0 : errno != ENXIO) return trouble(what);
  if (!S_ISREG(about.st_mode)) return {Code::io, "is no regular file"};
  file = std::move(opened);
  return {};
}

Status read_file(const FilePath& path, std::size_t most, std::string& contents) {
  Fd file;
  if (Status status = open_regular(path.text, O_RDONLY, "cannot be opened", file); !status.ok()) return status;
  std::string read_so_far;
  char part[16 * 1024];
  for (;;) {
    const ssize_t count = read(file.get(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return trouble("cannot be read");
    if (count == 0) break;
    read_so_far.append(part, static_cast<std::size_t>(count));
    if (read_so_far.size() > most)
      return {Code::io, "has more than the " + std::to_string(most) + " bytes that are allowed"};
  }
  contents = std::move(read_so_far);
  return {};
}

Status replace_file(const FilePath& path, std::string_view contents, Written written) {
  std::string target;
  if (Status followed = follow_links(path.text, target); !followed.ok()) return followed;
  struct stat about;
  const bool there = stat(target.c_str(), &about) == 0;
  if (there && !S_ISREG(about.st_mode)) return {Code::io, "is no regular file"};
  std::uint64_t mark = 0;
  if (const Status status = random_id(mark); !status.ok()) return status;
  const std::string fresh = target + ".new-" + std::to_string(mark);
  Status status = write_new(fresh, there ? &about : nullptr, contents, written);
  if (status.ok() && rename(fresh.c_str(), target.c_str()) != 0) status = trouble("cannot be replaced");
  if (!status.ok()) {
    unlink(fresh.c_str());
    return status;
  }
  if (written == Written::soon) return {};
  const Fd directory(open(directory_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) fsync(directory.get());  // not every file system can; the file itself is on the disk
  return {};
}

}  // namespace nezha
