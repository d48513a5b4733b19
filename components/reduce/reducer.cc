// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/reducer.h"

#include <algorithm>
#include <cstring>

namespace nezha {

void Reducer::fold(const std::byte* a, const std::byte* b, std::byte* out, std::size_t bytes,
                   std::size_t offset) const {
  const std::size_t count = bytes / element;
  if (kernel != nullptr) return kernel(a, b, out, count);
  if (out != b) std::memcpy(out, b, bytes);
  if (places == nullptr) return host(host_ctx, call_ctx, a, out, (begin + offset) / element, count);
  for (std::size_t done = 0; done < bytes;) {
    const Places::Run run = places->at(begin + offset + done);
    const std::size_t size = std::min(run.size, bytes - done);
    host(host_ctx, call_ctx, a + done, out + done, run.begin / element, size / element);
    done += size;
  }
}

}  // namespace nezha
