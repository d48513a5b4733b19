// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregator_key.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace nezha {
namespace {

constexpr std::size_t kLeast = 32, kMost = 4096;

}  // namespace

Status read_aggregator_key(const FilePath& path, Secret& key) {
  if (path.empty()) return {Code::bad_parameter, "no key file is named"};
  const std::string named = "key file " + path.text + ": ";
  Fd file;
  if (const Status opened = open_regular(path.text, O_RDONLY, "cannot be opened", file); !opened.ok())
    return {opened.code(), named + opened.text()};
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return {Code::io, named + std::strerror(errno)};
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", about.st_mode & 07777U);
    return {Code::refused, named + "has mode " + mode + ": others than its owner may use it; 0600 is right"};
  }
  std::string text(kMost + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return {Code::io, named + std::strerror(errno)};
    size += static_cast<std::size_t>(got);
  }
  if (size < kLeast || size > kMost)
    return {Code::bad_parameter, named + "has " + (size > kMost ? "more than 4096" : std::to_string(size)) +
                                     " bytes; 32 to 4096 are allowed (head -c 32 /dev/urandom)"};
  text.resize(size);
  key = secret_from(hmac_sha256(Secret{}, std::as_bytes(std::span(text))));
  return {};
}

}  // namespace nezha
