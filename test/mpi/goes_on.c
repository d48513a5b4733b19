/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls allreduce until one fails, which whoever started the program brings about by taking all rails away, and then goes
 * on: with Open MPI's own functions, and with a communicator made after that, whose calls are right at once and over rails
 * again when these are back. Then it ends as any program does. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

enum { COUNT = 1 << 18 };

int main(int argc, char** argv) {
  MPI_Comm broken, fresh;
  double took = 0;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int* data = calloc(COUNT, sizeof *data);
  MPI_Comm_dup(MPI_COMM_WORLD, &broken);
  MPI_Comm_set_errhandler(broken, MPI_ERRORS_RETURN);
  test_settle_and_say(broken);
  test_until_error(broken, data, COUNT, &took);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  for (int i = 0; i < 10; i++) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, fresh);
    test_that(sum == test_size, "without rails the sum is %d, not %d", sum, test_size);
  }
  if (argc > 1) {
    printf("rank %d waits for rails\n", test_rank);
    fflush(stdout);
    test_that(test_settles(fresh, 60.0), "rails did not come back");
  }
  MPI_Comm_free(&fresh);
  MPI_Comm_free(&broken);
  free(data);
  return test_end();
}
