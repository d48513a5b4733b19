/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_data.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // for the loops to be vectorised at -O2 too
#endif

/// Elements that share a seed. Short enough that a vector has many, long enough that seeding costs nothing.
enum { kBlock = 1 << 14 };

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_CPU
#endif

/// What a rank, or several of them together, multiply an element's two digits by.
struct weights {
  int32_t w;
  int32_t u;
};

static uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  x ^= x >> 32;
  x *= UINT64_C(0xd6e8feb86659fd93);
  return x ^ (x >> 32);
}

static uint32_t block_seed(uint64_t call, size_t block) { return (uint32_t)mix(mix(call) + block); }

static struct weights rank_weights(uint64_t call, int rank) {
  const uint64_t bits = mix(mix(call ^ UINT64_C(0x5851f42d4c957f2d)) + (uint64_t)rank);
  const struct weights k = {1 + (int32_t)(bits % 15), 1 + (int32_t)((bits >> 32) % 15)};
  return k;
}

/// The element's value in 0..1890 times the number of ranks in `k`.
static inline int32_t value_of(uint32_t seed, uint32_t index, struct weights k) {
  const uint32_t x = seed + index * 0x9e3779b1u;
  return (int32_t)(x >> 26) * k.w + (int32_t)((x >> 20) & 63) * k.u;
}

static inline int32_t extreme_of(uint32_t seed, uint32_t index, const struct weights* k, int ranks, bool max) {
  int32_t best = value_of(seed, index, k[0]);
  for (int r = 1; r < ranks; r++) {
    const int32_t v = value_of(seed, index, k[r]);
    best = (max ? v > best : v < best) ? v : best;
  }
  return best;
}

#define DEFINE_FOR(NAME, TYPE)                                                                                       \
  FOR_EACH_CPU static void fill_##NAME(TYPE* v, uint32_t n, uint32_t seed, struct weights k) {                       \
    for (uint32_t i = 0; i < n; i++) v[i] = (TYPE)value_of(seed, i, k);                                              \
  }                                                                                                                  \
  FOR_EACH_CPU static uint32_t wrong_##NAME(const TYPE* v, uint32_t n, uint32_t seed, struct weights k) {            \
    uint32_t wrong = 0;                                                                                              \
    for (uint32_t i = 0; i < n; i++) wrong += v[i] != (TYPE)value_of(seed, i, k);                                    \
    return wrong;                                                                                                    \
  }                                                                                                                  \
  static uint32_t wrong_extreme_##NAME(const TYPE* v, uint32_t n, uint32_t seed, const struct weights* k, int ranks, \
                                       bool max) {                                                                   \
    uint32_t wrong = 0;                                                                                              \
    for (uint32_t i = 0; i < n; i++) wrong += v[i] != (TYPE)extreme_of(seed, i, k, ranks, max);                      \
    return wrong;                                                                                                    \
  }

DEFINE_FOR(float, float)
DEFINE_FOR(double, double)
DEFINE_FOR(int, int32_t)
DEFINE_FOR(long, int64_t)

/// What a vector is compared with: one pair of weights for inputs and sums, one pair per rank for extremes.
struct pattern {
  enum bench_type type;
  enum bench_op op;
  uint64_t call;
  const struct weights* k;
  int ranks;
};

size_t bench_type_bytes(enum bench_type type) { return type == BENCH_FLOAT || type == BENCH_INT ? 4 : 8; }

static double element_of(const void* vector, size_t i, enum bench_type type) {
  switch (type) {
    case BENCH_FLOAT:
      return ((const float*)vector)[i];
    case BENCH_DOUBLE:
      return ((const double*)vector)[i];
    case BENCH_INT:
      return ((const int32_t*)vector)[i];
    default:
      return (double)((const int64_t*)vector)[i];
  }
}

static uint32_t wrong_in_block(const void* v, uint32_t n, uint32_t seed, const struct pattern* p) {
  const bool max = p->op == BENCH_MAX;
  if (p->op == BENCH_SUM) {
    switch (p->type) {
      case BENCH_FLOAT:
        return wrong_float(v, n, seed, p->k[0]);
      case BENCH_DOUBLE:
        return wrong_double(v, n, seed, p->k[0]);
      case BENCH_INT:
        return wrong_int(v, n, seed, p->k[0]);
      default:
        return wrong_long(v, n, seed, p->k[0]);
    }
  }
  switch (p->type) {
    case BENCH_FLOAT:
      return wrong_extreme_float(v, n, seed, p->k, p->ranks, max);
    case BENCH_DOUBLE:
      return wrong_extreme_double(v, n, seed, p->k, p->ranks, max);
    case BENCH_INT:
      return wrong_extreme_int(v, n, seed, p->k, p->ranks, max);
    default:
      return wrong_extreme_long(v, n, seed, p->k, p->ranks, max);
  }
}

static void find_fault(const char* block, size_t first, uint32_t n, uint32_t seed, const struct pattern* p,
                       struct bench_fault* fault) {
  for (uint32_t i = 0; i < n; i++) {
    const double got = element_of(block, i, p->type);
    const double expected =
        p->op == BENCH_SUM ? value_of(seed, i, p->k[0]) : extreme_of(seed, i, p->k, p->ranks, p->op == BENCH_MAX);
    if (got != expected) {
      *fault = (struct bench_fault){first + i, got, expected};
      return;
    }
  }
}

static uint32_t block_length(size_t first, size_t count) {
  return (uint32_t)(count - first < kBlock ? count - first : kBlock);
}

static bool check(const void* vector, size_t count, const struct pattern* p, struct bench_fault* fault) {
  const size_t bytes = bench_type_bytes(p->type);
  for (size_t first = 0; first < count; first += kBlock) {
    const char* block = (const char*)vector + first * bytes;
    const uint32_t n = block_length(first, count);
    const uint32_t seed = block_seed(p->call, first / kBlock);
    if (wrong_in_block(block, n, seed, p) != 0) {
      find_fault(block, first, n, seed, p, fault);
      return false;
    }
  }
  return true;
}

void bench_fill(void* vector, size_t count, enum bench_type type, uint64_t call, int rank) {
  const struct weights k = rank_weights(call, rank);
  for (size_t first = 0; first < count; first += kBlock) {
    void* block = (char*)vector + first * bench_type_bytes(type);
    const uint32_t n = block_length(first, count);
    const uint32_t seed = block_seed(call, first / kBlock);
    switch (type) {
      case BENCH_FLOAT:
        fill_float(block, n, seed, k);
        break;
      case BENCH_DOUBLE:
        fill_double(block, n, seed, k);
        break;
      case BENCH_INT:
        fill_int(block, n, seed, k);
        break;
      case BENCH_LONG:
        fill_long(block, n, seed, k);
        break;
    }
  }
}

bool bench_check_input(const void* vector, size_t count, enum bench_type type, uint64_t call, int rank,
                       struct bench_fault* fault) {
  const struct weights k = rank_weights(call, rank);
  const struct pattern p = {type, BENCH_SUM, call, &k, 1};
  return check(vector, count, &p, fault);
}

bool bench_check_result(const void* vector, size_t count, enum bench_type type, enum bench_op op, uint64_t call,
                        int ranks, struct bench_fault* fault) {
  static struct weights each[BENCH_MAX_RANKS];
  struct weights sum = {0, 0};
  for (int r = 0; r < ranks; r++) {
    each[r] = rank_weights(call, r);
    sum.w += each[r].w;
    sum.u += each[r].u;
  }
  const struct pattern p = {type, op, call, op == BENCH_SUM ? &sum : each, ranks};
  return check(vector, count, &p, fault);
}
