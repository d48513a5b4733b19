// SPDX-License-Identifier: BSD-3-Clause
#include "util/unmapped.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace nezha {
namespace {

/// What was said last. `number`: of what it is about, from 1 on. Two that write to one entry at once may leave a mixture, which
/// `check` does not fit.
struct Entry {
  std::atomic<std::uint64_t> number = 0, check = 0;
  std::atomic<std::uintptr_t> from = 0, to = 0;
};

std::uint64_t check_of(std::uint64_t number, std::uintptr_t from, std::uintptr_t to) { return number ^ from ^ (to << 1); }

constexpr std::uint64_t kEntries = 256;

/// The 47th word of /proc/self/stat, behind a name that may have any characters; 0: it cannot be read.
std::uintptr_t heap_begin() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int number = 3; number < 47; ++number) words >> word;
  std::uintptr_t begin = 0;
  return words >> begin ? begin : 0;
}

std::array<Entry, kEntries> entries;
std::atomic<std::uint64_t> said = 0;
std::atomic<bool> hears = false;

}  // namespace

void hear_of_unmapping(bool on) { hears = on; }
bool hears_of_unmapping() { return hears; }

void note_unmapped(const void* from, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const std::uint64_t number = ++said;
  Entry& entry = entries[number % kEntries];
  entry.number = 0;
  entry.from = begin;
  entry.to = begin + size;
  entry.check = check_of(number, begin, begin + size);
  entry.number = number;
}

bool in_heap(std::uintptr_t from, std::uintptr_t to) {
  static const std::uintptr_t begin = heap_begin();
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  return begin == 0 || (from < end && to > begin);
}

UnmappedReader::UnmappedReader() : at_(said) {}

/// A range that somebody is just writing down, or that was written over, counts as everything: that loses nothing but time.
bool UnmappedReader::next(Range& range) {
  const std::uint64_t last = said;
  if (at_ == last) return false;
  const Entry& entry = entries[(at_ + 1) % kEntries];
  const std::uint64_t number = entry.number;
  range = {entry.from, entry.to};
  if (number == at_ + 1 && entry.check == check_of(number, range.from, range.to) && entry.number == number) {
    ++at_;
    return true;
  }
  range = {0, std::numeric_limits<std::uintptr_t>::max()};
  at_ = last;
  return true;
}

}  // namespace nezha
