// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/library.h"

#include <dlfcn.h>

namespace nezha {
namespace {

constexpr char kLibrary[] = "libfabric.so.1";

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

struct Loaded {
  OfiLibrary library;
  Status status;

  Loaded() {
    void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // for good: its providers may have threads
    if (handle == nullptr) {
      status = {Code::absent, std::string("libfabric cannot be loaded: ") + dlerror()};
      return;
    }
    const bool whole = find(handle, "fi_getinfo", library.getinfo) && find(handle, "fi_freeinfo", library.freeinfo) &&
                       find(handle, "fi_dupinfo", library.dupinfo) && find(handle, "fi_fabric", library.fabric) &&
                       find(handle, "fi_strerror", library.strerror);
    if (!whole) status = {Code::absent, std::string(kLibrary) + " is not libfabric: " + dlerror()};
  }
};

}  // namespace

const OfiLibrary* OfiLibrary::load(Status& why) {
  static const Loaded loaded;
  why = loaded.status;
  return why.ok() ? &loaded.library : nullptr;
}

Status OfiLibrary::error(const char* what, long error) const {
  return {Code::io, std::string(what) + ": " + strerror(static_cast<int>(-error))};
}

}  // namespace nezha
