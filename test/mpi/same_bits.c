/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums whose result depends on their order: all ranks must have the same bits. Rank 0 prints a digest of all results,
 * so that runs can be compared. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static uint64_t digest = 14695981039346656037ull;

static double hostile(unsigned seed, size_t i) {
  unsigned number = test_number(seed, (unsigned)test_rank, i);
  return ldexp((double)(int)number, (int)(test_number(seed + 1, (unsigned)test_rank, i) % 60) - 30);
}

static void add_to_digest(const unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    digest = (digest ^ bytes[i]) * 1099511628211ull;
  }
}

/// Rank 0's result must be everybody's.
static void compare(const void* result, size_t size, const char* what) {
  unsigned char* first = malloc(size);
  memcpy(first, result, size);
  MPI_Bcast(first, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
  test_that(0 == memcmp(first, result, size), "%s of %zu bytes: other bits than on rank 0", what, size);
  add_to_digest(first, size);
  free(first);
}

static void check_float(size_t count) {
  float* data = malloc(count * sizeof *data);
  for (size_t i = 0; i < count; i++) {
    data[i] = (float)hostile(3, i);
  }
  MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  compare(data, count * sizeof *data, "a sum of MPI_FLOAT");
  free(data);
}

static void check_double(size_t count) {
  double *data = malloc(count * sizeof *data), *sum = malloc(count * sizeof *sum);
  for (size_t i = 0; i < count; i++) {
    data[i] = hostile(5, i);
  }
  MPI_Allreduce(data, sum, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  compare(sum, count * sizeof *sum, "a sum of MPI_DOUBLE");
  free(data);
  free(sum);
}

static void check_complex(size_t count) {
  double complex* data = malloc(count * sizeof *data);
  for (size_t i = 0; i < count; i++) {
    data[i] = (1.0 + hostile(7, i) * 0x1p-62) + I * hostile(9, i) * 0x1p-62;
  }
  MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
  compare(data, count * sizeof *data, "a product of MPI_C_DOUBLE_COMPLEX");
  free(data);
}

int main(int argc, char** argv) {
  static const size_t counts[] = {1, 3, 100, 4097, 50021, 300007};
  enum { COUNTS = sizeof counts / sizeof counts[0] };
  long long bytes = 0;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  for (int i = 0; i < COUNTS; i++) {
    check_float(counts[i]);
    check_double(counts[i]);
    check_complex(counts[i]);
    bytes += (long long)counts[i] * (4 + 8 + 16);
  }
  test_carried_since(before, 3 * COUNTS, bytes);
  if (0 == test_rank) {
    printf("digest %016llx\n", (unsigned long long)digest);
  }
  return test_end();
}
