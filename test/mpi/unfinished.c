/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 begins allreduces that no other rank begins, and all end MPI: the program's mistake, no reason to crash. */
#include <stdlib.h>

#include "common.h"

enum { REQUESTS = 5, COUNT = 1000 };

int main(int argc, char** argv) {
  MPI_Request requests[REQUESTS];
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int* data = calloc(REQUESTS * COUNT, sizeof *data);
  test_settle(MPI_COMM_WORLD);
  for (int i = 0; i < REQUESTS && 0 == test_rank; i++) {
    MPI_Iallreduce(MPI_IN_PLACE, data + i * COUNT, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  }
  return test_end(); /* the vectors stay */
}
