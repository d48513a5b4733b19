// SPDX-License-Identifier: BSD-3-Clause
/// Which memory the process has given back, for whoever registers memory with a device: addresses that get other pages would go on
/// meaning the old ones to it. Any thread may say or read it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nezha {

/// From here on note_unmapped() is called, or not any more, when memory of the process is given back or becomes other memory: before
/// anybody can get it anew.
void hear_of_unmapping(bool on);
/// That is so. Until then nothing may be registered that somebody else gives back.
bool hears_of_unmapping();
/// The pages from `from` on go. Takes no lock and no memory: also called inside munmap(2) and free(3).
void note_unmapped(const void* from, std::size_t size);

/// Some of these addresses belong to the heap that grows and shrinks by brk(2), of which that need not be said: where Open MPI 5.0
/// runs over glibc 2.41 it does not hear of it.
bool in_heap(std::uintptr_t from, std::uintptr_t to);

/// One reader's place in what was said. Not thread safe itself.
class UnmappedReader {
 public:
  UnmappedReader();
  /// Calls gone(from, to), addresses, for each range since the last time; once for all addresses if too much was said meanwhile. Costs
  /// next to nothing where nothing was.
  template <typename Gone>
  void read(const Gone& gone) {
    Range range;
    while (next(range)) gone(range.from, range.to);
  }

 private:
  struct Range {
    std::uintptr_t from = 0, to = 0;
  };
  bool next(Range& range);

  std::uint64_t at_;
};

}  // namespace nezha
