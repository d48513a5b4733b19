/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls allreduce until one fails, which whoever started the program brings about, and says so; the next call on the
 * same communicator must fail as well, without waiting. Ends without MPI_Finalize, which a dead peer would hold up. Gives
 * up after a minute. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

enum { COUNT = 1 << 18 };

int main(int argc, char** argv) {
  MPI_Comm comm;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int *data = calloc(COUNT, sizeof *data), rc = MPI_SUCCESS;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  test_settle(comm);
  printf("calls go over rails on rank %d\n", test_rank);
  fflush(stdout);
  double deadline = MPI_Wtime() + 60.0, before = 0;
  while (MPI_SUCCESS == rc && MPI_Wtime() < deadline) {
    before = MPI_Wtime();
    rc = MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, comm);
    usleep(1000);
  }
  double took = MPI_Wtime() - before;
  int failed = rc;
  bool good = test_that(MPI_SUCCESS != rc, "no call failed within a minute");
  before = MPI_Wtime();
  rc = MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, comm);
  good = test_that(MPI_SUCCESS != rc, "the call after the failed one did not fail") && good;
  good = test_that(MPI_Wtime() - before < 1.0, "it failed only after %.1f s", MPI_Wtime() - before) && good;
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(failed, words, &length);
  printf("rank %d: an error after %.2f s, %s: %s\n", test_rank, took, good ? "as it should be" : "failed", words);
  fflush(stdout);
  fflush(stderr);
  sleep(2); /* the other ranks, too, have time to hear of it */
  _exit(good ? 0 : 1);
}
