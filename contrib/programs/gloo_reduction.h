/* SPDX-License-Identifier: BSD-3-Clause */
/// Gloo's allreduce algorithms behind one interface, for sums of floats.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gloo/context.h>

namespace nezha_bench {

/// A vector's slice on one rail, prepared for two alternating buffers.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// `in` is the slice of this rank's input; the result is in the output buffer that the slot was prepared with.
  virtual void run(int slot, const float* in) = 0;
};

/// What can be tried with so many ranks; the same list on all of them.
std::vector<std::string> reduction_names(int ranks);

/// True for the algorithms that find their input where the result goes.
bool works_in_place(const std::string& name);

/// `out`: where each slot's result goes. Collective; construct and destroy in the same order on all ranks.
std::unique_ptr<Reduction> make_reduction(const std::string& name, const std::shared_ptr<gloo::Context>& context,
                                          const std::array<float*, 2>& out, size_t count);

}  // namespace nezha_bench
