/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls allreduce until one fails, which whoever started the program brings about, and says so; the next call on the
 * same communicator must fail as well, without waiting. With the argument "requests" they are twelve at a time that do not
 * block, each of which has to end, whatever becomes of it; with "roots" broadcasts and reductions, the root of which is another
 * each time. Ends without MPI_Finalize, which a dead peer would hold up. Gives
 * up after a minute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum { COUNT = 1 << 18, TOGETHER = 12 };

/* The first error of a row of calls; of one that could not be begun, that. */
static int all_together(MPI_Comm comm, int* data) {
  MPI_Request requests[TOGETHER];
  int failed = MPI_SUCCESS;
  for (int i = 0; i < TOGETHER; i++) {
    const int count = COUNT / TOGETHER;
    const int rc = MPI_Iallreduce(MPI_IN_PLACE, data + i * count, count, MPI_INT, MPI_SUM, comm, &requests[i]);
    if (MPI_SUCCESS == rc) continue;
    requests[i] = MPI_REQUEST_NULL;
    failed = MPI_SUCCESS == failed ? rc : failed;
  }
  for (int i = 0; i < TOGETHER; i++) {
    const int rc = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    failed = MPI_SUCCESS == failed ? rc : failed;
  }
  return failed;
}

static int together_until_error(MPI_Comm comm, int* data, double* took) {
  const double deadline = MPI_Wtime() + 60.0;
  int rc = MPI_SUCCESS;
  while (MPI_SUCCESS == rc && MPI_Wtime() < deadline) {
    const double before = MPI_Wtime();
    rc = all_together(comm, data);
    usleep(1000);
    *took = MPI_Wtime() - before;
  }
  test_that(MPI_SUCCESS != rc, "no call failed within a minute");
  return rc;
}

static int roots_until_error(MPI_Comm comm, int* data, double* took) {
  const double deadline = MPI_Wtime() + 60.0;
  int rc = MPI_SUCCESS;
  for (int call = 0; MPI_SUCCESS == rc && MPI_Wtime() < deadline; call++) {
    const int root = call / 2 % test_size;
    const double before = MPI_Wtime();
    if (call % 2 == 0) {
      rc = MPI_Bcast(data, COUNT, MPI_INT, root, comm);
    } else {
      rc = MPI_Reduce(root == test_rank ? MPI_IN_PLACE : data, data, COUNT, MPI_INT, MPI_SUM, root, comm);
    }
    usleep(1000);
    *took = MPI_Wtime() - before;
  }
  test_that(MPI_SUCCESS != rc, "no call failed within a minute");
  return rc;
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int* data = calloc(COUNT, sizeof *data);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* where Open MPI raises those of collective requests */
  test_settle_and_say(comm);
  double took = 0;
  const char* const what = argc > 1 ? argv[1] : "";
  const bool requests = 0 == strcmp(what, "requests"), roots = 0 == strcmp(what, "roots");
  int failed = requests ? together_until_error(comm, data, &took)
               : roots  ? roots_until_error(comm, data, &took)
                        : test_until_error(comm, data, COUNT, &took);
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
