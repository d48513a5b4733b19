/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but the last have a communicator of their own, whose calls must be carried: for jobs whose last rank does not use the
 * component. */
#include "common.h"

enum { CALLS = 300 };

int main(int argc, char** argv) {
  MPI_Comm comm;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_split(MPI_COMM_WORLD, test_rank == test_size - 1 ? MPI_UNDEFINED : 0, test_rank, &comm);
  if (MPI_COMM_NULL != comm) {
    test_settle(comm);
    for (int i = 0; i < CALLS; i++) {
      int one = 1, sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      test_that(test_size - 1 == sum, "the sum is %d", sum);
    }
    MPI_Comm_free(&comm);
  }
  return test_end();
}
