// SPDX-License-Identifier: BSD-3-Clause
/// How nezha_ask answers: a line per fact on standard output, its fields between tabs, the kind of fact first.
/// Control characters of a field become blanks and question marks.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

namespace nezha {

inline char printable(char letter) {
  if (letter == '\t' || letter == '\n') return ' ';
  return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f' ? '?' : letter;
}

inline void fact(std::initializer_list<std::string_view> fields) {
  std::string line;
  for (const std::string_view field : fields) {
    if (!line.empty()) line += '\t';
    for (const char letter : field) line += printable(letter);
  }
  std::puts(line.c_str());
}

}  // namespace nezha
