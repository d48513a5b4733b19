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
  int* data = calloc(COUNT, sizeof *data);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  test_settle_and_say(comm);
  double took = 0;
  int failed = test_until_error(comm, data, COUNT, &took);
  bool good = MPI_SUCCESS != failed;
  double before = MPI_Wtime();
  int rc = MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, comm);
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
