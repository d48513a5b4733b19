/* SPDX-License-Identifier: BSD-3-Clause */
/* While a call waits, Open MPI goes on: rank 0 waits in allreduce while rank 1, before it comes there, receives from it
 * what only rank 0's progress can send. Without progress the program never ends. */
#include <stdlib.h>

#include "common.h"

enum { COUNT = 4 << 20, ROUNDS = 5 };

static void round_of(int round, int* large) {
  int one = 1, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (0 == test_rank) {
    for (int i = 0; i < COUNT; i++) {
      large[i] = i ^ round;
    }
    MPI_Isend(large, COUNT, MPI_INT, 1, round, MPI_COMM_WORLD, &request);
  } else if (1 == test_rank) {
    MPI_Recv(large, COUNT, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; i++) {
      if (!test_that(large[i] == (i ^ round), "word %d of the message is wrong", i)) {
        break;
      }
    }
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  test_that(sum == test_size, "the sum is %d, not %d", sum, test_size);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int* large = malloc(COUNT * sizeof *large);
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  for (int round = 0; round < ROUNDS; round++) {
    round_of(round, large);
  }
  test_carried_since(before, ROUNDS, ROUNDS * 4);
  free(large);
  return test_end();
}
