// SPDX-License-Identifier: BSD-3-Clause
#include "node/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace nezha {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status system_error(const char* what) {
  return {Code::io, std::string(what) + " of shared memory: " + std::strerror(errno)};
}

/// A system may refuse memory that could be executed (vm.memfd_noexec); kernels before 6.3 know nothing of that.
Fd make_descriptor() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Fd made(memfd_create("nezha", kFlags | MFD_NOEXEC_SEAL));
  if (!made && errno == EINVAL) made = Fd(memfd_create("nezha", kFlags));
  return made;
}

}  // namespace

/// In a child something else may lie there by now.
SharedMemory::~SharedMemory() {
  if (base_ != nullptr && process_ == getpid()) munmap(base_, size_);
}

/// Beyond that limit ftruncate() does not only fail: its signal ends the process.
Status SharedMemory::make(std::size_t size, Fd& descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur)
    return {Code::io, "the limit on the size of files (ulimit -f) is below the " + std::to_string(size) + " bytes of shared memory"};
  Fd made = make_descriptor();
  if (!made) return system_error("memfd_create");
  if (ftruncate(made.get(), static_cast<off_t>(size)) != 0) return system_error("ftruncate");
  if (fcntl(made.get(), F_ADD_SEALS, kSeals) != 0) return system_error("sealing");
  descriptor = std::move(made);
  return {};
}

Status SharedMemory::map(const Fd& descriptor, std::size_t size) {
  struct stat found {};
  if (fstat(descriptor.get(), &found) != 0) return system_error("fstat");
  if (!S_ISREG(found.st_mode) || found.st_size < 0 || static_cast<std::size_t>(found.st_size) != size) {
    return {Code::bad_peer, "the shared memory has " + std::to_string(found.st_size) + " bytes, this process wants " +
                                std::to_string(size)};
  }
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return {Code::bad_peer, "the size of the shared memory is not sealed"};
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor.get(), 0);
  if (at == MAP_FAILED) return system_error("mmap");
  *this = SharedMemory();
  base_ = static_cast<std::byte*>(at);
  size_ = size;
  process_ = getpid();
  // A child that stays would keep all pages of a team that is gone.
  return madvise(at, size, MADV_DONTFORK) == 0 ? Status{} : system_error("madvise");
}

}  // namespace nezha
