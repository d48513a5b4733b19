/* SPDX-License-Identifier: BSD-3-Clause */
/// The vectors that the bench programs reduce: generated from (rank, call, element), and checked in full.
///
/// Every value is a small integer, exact in each of the types, so a result is right or wrong and never
/// "close". An element's value is a*w + b*u, where a and b depend on the element and the call and w and u on
/// the rank and the call; a sum over ranks is then again a*W + b*U and costs no more to check than an input.
#ifndef NEZHA_BENCH_DATA_H
#define NEZHA_BENCH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bench_type { BENCH_FLOAT, BENCH_DOUBLE, BENCH_INT, BENCH_LONG };
enum bench_op { BENCH_SUM, BENCH_MAX, BENCH_MIN };

/// Most ranks for which a sum is still an exact float.
enum { BENCH_MAX_RANKS = 8000 };

struct bench_fault {
  size_t element;
  double got;
  double expected;
};

size_t bench_type_bytes(enum bench_type type);

/// The contribution of `rank` to call number `call`.
void bench_fill(void* vector, size_t count, enum bench_type type, uint64_t call, int rank);

/// True if `vector` still holds what bench_fill wrote; else `fault` names the first element that does not.
bool bench_check_input(const void* vector, size_t count, enum bench_type type, uint64_t call, int rank,
                       struct bench_fault* fault);

/// True if `vector` is the reduction of all ranks' contributions to `call`; else `fault` as above.
bool bench_check_result(const void* vector, size_t count, enum bench_type type, enum bench_op op, uint64_t call,
                        int ranks, struct bench_fault* fault);

#ifdef __cplusplus
}
#endif
#endif
