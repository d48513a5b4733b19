// SPDX-License-Identifier: BSD-3-Clause
/// The reduction of one call: a kernel, or the host where there is none.
#pragma once

#include <cstddef>

#include "reduce/places.h"
#include "reduce/reduce.h"

namespace nezha {

/// Cheap to copy. The host's function is called on the thread that folds.
struct Reducer {
  using HostReduce = void (*)(void* ctx, void* call_ctx, const void* in, void* inout, std::size_t first, std::size_t count);

  ReduceKernel kernel = nullptr;
  HostReduce host = nullptr;  ///< inout[i] = in[i] op inout[i]
  void* host_ctx = nullptr;
  void* call_ctx = nullptr;
  std::size_t element = 1;  ///< bytes
  std::size_t begin = 0;    ///< where offsets count from, in bytes of the call's vector
  const Places* places = nullptr;  ///< null: the order is that of the vector. Else offsets are of the other order

  /// out = a op b, over `bytes` bytes of whole elements, which lie `offset` bytes from the beginning of the call's vector.
  /// `out` may be equal to `b`, not to `a`.
  void fold(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes, std::size_t offset) const;
};

}  // namespace nezha
