/* SPDX-License-Identifier: BSD-3-Clause */
/* Large sums and maxima, in place and not, which are the same numbers whatever the order of summation; see test_sharp.py.
 * Usage: sharp CALLS */
#include <stdlib.h>

#include "common.h"

enum { COUNT = 300007 };

static int number(int rank, int call, size_t i) { return (int)(test_number((unsigned)call, (unsigned)rank, i) % 1000); }

static void check_sum(int call) {
  double* data = malloc(COUNT * sizeof *data);
  for (size_t i = 0; i < COUNT; i++) {
    data[i] = number(test_rank, call, i);
  }
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  size_t wrong = 0;
  for (size_t i = 0; i < COUNT; i++) {
    int sum = 0;
    for (int rank = 0; rank < test_size; rank++) {
      sum += number(rank, call, i);
    }
    wrong += data[i] != sum;
  }
  test_that(0 == wrong, "call %d: %zu of the sums are wrong", call, wrong);
  free(data);
}

static void check_maximum(int call) {
  int *data = malloc(COUNT * sizeof *data), *result = malloc(COUNT * sizeof *result);
  for (size_t i = 0; i < COUNT; i++) {
    data[i] = number(test_rank, call, i);
  }
  MPI_Allreduce(data, result, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  size_t wrong = 0;
  for (size_t i = 0; i < COUNT; i++) {
    int most = 0;
    for (int rank = 0; rank < test_size; rank++) {
      most = number(rank, call, i) > most ? number(rank, call, i) : most;
    }
    wrong += result[i] != most || data[i] != number(test_rank, call, i);
  }
  test_that(0 == wrong, "call %d: %zu of the maxima are wrong", call, wrong);
  free(data);
  free(result);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  test_settle(MPI_COMM_WORLD);
  for (int call = 0; call < atoi(argv[1]); call++) {
    (call % 2 == 0 ? check_sum : check_maximum)(call);
  }
  return test_end();
}
