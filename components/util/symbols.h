// SPDX-License-Identifier: BSD-3-Clause
/// The functions of a library that was opened by dlopen.
#pragma once

#include <dlfcn.h>

#include <string>

namespace nezha {

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  /// Null where the library has none of that name.
  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  /// The first that was not found; empty: all were.
  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};

}  // namespace nezha
