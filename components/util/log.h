// SPDX-License-Identifier: BSD-3-Clause
/// Where log lines go. The host owns the sink; levels: 0 errors, 1 decisions and lost lanes, 2 rails and lanes, 3 failed attempts.
#pragma once

#include <cstdarg>
#include <string>

namespace nezha {

class Log {
 public:
  using Sink = void (*)(void* ctx, int level, const char* line);

  Log() = default;
  Log(Sink sink, void* ctx, int level) : sink_(sink), ctx_(ctx), level_(level) {}

  bool on(int level) const { return sink_ != nullptr && level <= level_; }
  /// printf-like; formats nothing when the level is off. Any thread that the sink allows.
  [[gnu::format(printf, 3, 4)]] void line(int level, const char* format, ...) const;

 private:
  Sink sink_ = nullptr;
  void* ctx_ = nullptr;
  int level_ = 0;
};

}  // namespace nezha
