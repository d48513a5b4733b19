// SPDX-License-Identifier: BSD-3-Clause
#include "reduce/reduce.h"

#include "reduce/kernels.h"

namespace nezha {
namespace {

#if defined(__x86_64__)

Level detect() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return Level::avx512;
  return __builtin_cpu_supports("avx2") ? Level::avx2 : Level::baseline;
}

const KernelTable& table_of(Level level) {
  switch (level) {
    case Level::avx512: return kernels_avx512;
    case Level::avx2: return kernels_avx2;
    case Level::baseline: break;
  }
  return kernels_baseline;
}

#else

Level detect() { return Level::baseline; }

const KernelTable& table_of(Level) { return kernels_baseline; }

#endif

}  // namespace

Level best_level() {
  static const Level level = detect();
  return level;
}

ReduceKernel find_kernel_at(Level level, nezha_type_t type, nezha_op_t op) {
  if (type >= NEZHA_TYPE_COUNT || op >= NEZHA_OP_COUNT) return nullptr;
  return table_of(level).kernels[type][op];
}

ReduceKernel find_kernel(nezha_type_t type, nezha_op_t op) { return find_kernel_at(best_level(), type, op); }

}  // namespace nezha
