// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace nezha {

/// Where values that are reduced in another order than that of their vector lie in it.
class Places {
 public:
  /// Bytes of the vector, which follow one another there as where they are reduced.
  struct Run {
    std::size_t begin = 0, size = 0;
  };
  /// `offset`: bytes from the beginning of the other order. Runs are whole elements.
  virtual Run at(std::size_t offset) const = 0;

 protected:
  ~Places() = default;
};

}  // namespace nezha
