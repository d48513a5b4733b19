// SPDX-License-Identifier: BSD-3-Clause
/// The tables that kernels.cc makes, one for each level that it is compiled for.
#pragma once

#include "reduce/reduce.h"

namespace nezha {

struct KernelTable {
  ReduceKernel kernels[NEZHA_TYPE_COUNT][NEZHA_OP_COUNT];
};

extern const KernelTable kernels_baseline;
extern const KernelTable kernels_avx2;
extern const KernelTable kernels_avx512;

}  // namespace nezha
