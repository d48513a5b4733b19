// SPDX-License-Identifier: BSD-3-Clause
#include "util/log.h"

#include <array>
#include <cstdio>

namespace nezha {

void Log::line(int level, const char* format, ...) const {
  if (!on(level)) return;
  std::array<char, 1024> text;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (static_cast<std::size_t>(length) >= text.size()) {
    std::snprintf(text.data() + text.size() - 4, 4, "...");
  }
  sink_(ctx_, level, text.data());
}

}  // namespace nezha
