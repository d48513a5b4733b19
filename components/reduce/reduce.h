// SPDX-License-Identifier: BSD-3-Clause
/// Reduction kernels. Any thread. All levels give equal bits for equal input, so ranks on different processors agree.
#pragma once

#include <cstddef>

#include "nezha/nezha.h"

namespace nezha {

/// out[i] = a[i] op b[i] for `count` elements, in this order of operands. `out` may be equal to `a` or to `b`; other
/// overlap is not allowed. Nothing is assumed of alignment, not even that of an element.
///
/// Integers wrap. Minimum is `a < b ? a : b` and maximum is `a > b ? a : b`: where either is NaN, or they are zeros of
/// different signs, the result is b. The host compares all this with its own arithmetic (nezha_reduce()). The sum or product of two NaNs is a, made quiet.
using ReduceKernel = void (*)(const void* a, const void* b, void* out, std::size_t count);

/// The best kernel for this processor. nullptr: there is none, the host must reduce.
ReduceKernel find_kernel(nezha_type_t type, nezha_op_t op);

enum class Level { baseline, avx2, avx512 };

/// What this processor can run, as far as it was compiled in.
Level best_level();

/// For tests: the kernel of a level, which must not be above best_level().
ReduceKernel find_kernel_at(Level level, nezha_type_t type, nezha_op_t op);

}  // namespace nezha
