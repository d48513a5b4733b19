// SPDX-License-Identifier: BSD-3-Clause
/// libfabric, loaded when the first rail of it is wanted. Nothing is linked with it: the component works where the library is
/// not installed, and who does not ask for such rails does not pay for the search through its providers. Everything that is not
/// here is an inline function of its headers.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <string>

#include "util/status.h"

#undef count_of  // of fabric.h, a macro of a name that others have too

namespace nezha {

/// The functions of the library. Structures are allocated by these alone, never by the headers' inline functions, so that a
/// library newer than the headers, whose structures are longer, fits too.
struct OfiLibrary {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  /// Null: it is not there, `why` tells. Any thread.
  static const OfiLibrary* load(Status& why);

  /// "fi_listen: Address already in use"; `error` as the calls return it, negative.
  Status error(const char* what, long error) const;

  struct FreeInfo {
    const OfiLibrary* library;
    void operator()(fi_info* info) const { library->freeinfo(info); }
  };
  using Info = std::unique_ptr<fi_info, FreeInfo>;
  Info copy(const fi_info* info) const { return {dupinfo(info), FreeInfo{this}}; }
};

/// What its version of the interface is that Nezha was written for.
constexpr std::uint32_t kOfiVersion = FI_VERSION(1, 9);

/// An object of libfabric with an owner.
struct CloseFid {
  template <typename Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <typename Object>
using Fid = std::unique_ptr<Object, CloseFid>;

}  // namespace nezha
