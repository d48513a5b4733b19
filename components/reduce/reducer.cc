// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/reducer.h"

#include <cstring>

namespace nezha {

void Reducer::fold(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes,
                   std::size_t offset) const {
  const std::size_t count = bytes / element;
  if (kernel != nullptr) return kernel(a, b, out, count);
  if (out != b) std::memcpy(out, b, bytes);
  host(host_ctx, call_ctx, a, out, (begin + offset) / element, count);
}

}  // namespace nezha
