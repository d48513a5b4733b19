/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank calls allreduce with another count or type than the others: a mistake, which every rank is to get an error for,
 * and soon. Communicators that have made no mistake go on. With an argument only the mistake of that number is made, by
 * rank 0, with errors that are fatal: the job must end. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "persistent.h"

enum { MOST = 2000000 };
static const double kPatience = 30.0; /* seconds: a busy machine, and help texts; without an error there would be no end */

struct mistake {
  int count, other;
  MPI_Datatype type, other_type;
};

/** On a communicator of its own, by rank `culprit`. */
static void make(const struct mistake* mistake, int culprit, void* data, MPI_Errhandler errors) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, errors);
  test_settle(comm);
  int count = test_rank == culprit ? mistake->other : mistake->count;
  MPI_Datatype type = test_rank == culprit ? mistake->other_type : mistake->type;
  double before = MPI_Wtime();
  int rc = MPI_Allreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, comm);
  double took = MPI_Wtime() - before;
  test_that(MPI_SUCCESS != rc, "no error for %d elements, and %d on rank %d", mistake->count, mistake->other, culprit);
  test_that(took < kPatience, "the error came after %.1f s", took);
  rc = MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, comm);
  test_that(MPI_SUCCESS != rc, "the next call on the communicator has no error");
  MPI_Comm_free(&comm);
}

static int handled;

static void handle(MPI_Comm* comm, int* error, ...) {
  (void)comm;
  (void)error;
  ++handled;
}

/** By a call that does not block, on a communicator that is freed before the call is over: the one that the error is
 * reported on nevertheless. Open MPI 4.1 reports such errors on MPI_COMM_WORLD. A rank that hears early of the mistake gets
 * the error at the call's beginning, unless the call is persistent. */
static void make_and_free(int culprit, bool persistent, int* data) {
  MPI_Errhandler errors;
  MPI_Comm_create_errhandler(handle, &errors);
  test_set_errhandlers(errors);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  test_settle(comm);
  const int count = test_rank == culprit ? 2 : 1;
  MPI_Request request = MPI_REQUEST_NULL;
  int begun = MPI_SUCCESS;
  handled = 0;
#ifdef ALLREDUCE_INIT
  if (persistent) {
    ALLREDUCE_INIT(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    begun = MPI_Start(&request);
  }
#endif
  if (!persistent) {
    begun = MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm, &request);
  }
  MPI_Comm_free(&comm);
  if (MPI_SUCCESS == begun) {
    test_that(MPI_SUCCESS != MPI_Wait(&request, MPI_STATUS_IGNORE), "no error on a communicator that is freed");
  }
  test_that(1 == handled, "%d calls of its error handler", handled);
  if (MPI_REQUEST_NULL != request) {
    MPI_Request_free(&request);
  }
  test_set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&errors);
}

#ifdef ALLREDUCE_INIT
enum { STARTED = 2 };

static void init(MPI_Comm comm, int* data, MPI_Request* requests) {
  for (int i = 0; i < STARTED; i++) {
    ALLREDUCE_INIT(MPI_IN_PLACE, data + i, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  }
}

static void forget(MPI_Request* requests) {
  for (int i = 0; i < STARTED; i++) {
    if (MPI_REQUEST_NULL != requests[i]) {
      MPI_Request_free(&requests[i]);
    }
  }
}

/** Persistent calls on a communicator after a mistake: MPI_Startall of Open MPI tells of no error, so waiting has to. */
static void start_after(int* data) {
  MPI_Comm comm;
  MPI_Request some[STARTED], others[STARTED];
  MPI_Status statuses[STARTED];
  test_set_errhandlers(MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  test_settle(comm);
  init(comm, data, some);
  init(comm, data + STARTED, others);
  MPI_Allreduce(MPI_IN_PLACE, data, 0 == test_rank ? 2 : 1, MPI_INT, MPI_SUM, comm);
  MPI_Startall(STARTED, some);
  const int rc = MPI_Waitall(STARTED, some, MPI_STATUSES_IGNORE);
  test_that(MPI_ERR_IN_STATUS == rc, "waiting for calls that could not be started returns %d", rc);
  MPI_Startall(STARTED, others);
  MPI_Waitall(STARTED, others, statuses); /* 4.1 returns no error of persistent ones where there are statuses */
  for (int i = 0; i < STARTED; i++) {
    int class = MPI_SUCCESS;
    MPI_Error_class(statuses[i].MPI_ERROR, &class);
    test_that(MPI_SUCCESS != class, "no error of MPI's in the status of call %d, but %d", i, statuses[i].MPI_ERROR);
  }
  forget(some);
  forget(others);
  MPI_Comm_free(&comm);
  test_set_errhandlers(MPI_ERRORS_ARE_FATAL);
}
#endif

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  const struct mistake mistakes[] = {
      {1, 2, MPI_INT, MPI_INT},           {2, 1, MPI_INT, MPI_INT},
      {1000, 1001, MPI_INT, MPI_INT},     {1001, 1000, MPI_INT, MPI_INT},
      {1, 1000000, MPI_INT, MPI_INT},     {1000000, 1, MPI_INT, MPI_INT},
      {500000, 1000000, MPI_INT, MPI_INT}, {1000000, 500000, MPI_INT, MPI_INT},
      {1000, 1000, MPI_INT, MPI_DOUBLE},  {100000, 100000, MPI_DOUBLE, MPI_FLOAT},
  };
  void* data = calloc(MOST, sizeof(int));
  if (argc > 1) {
    make(&mistakes[atoi(argv[1])], 0, data, MPI_ERRORS_ARE_FATAL);
  }
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; ++i) {
    make(&mistakes[i], 0, data, MPI_ERRORS_RETURN);
    make(&mistakes[i], test_size - 1, data, MPI_ERRORS_RETURN);
  }
  for (int culprit = 0; culprit < test_size; ++culprit) {
    make_and_free(culprit, false, data);
#ifdef ALLREDUCE_INIT
    make_and_free(culprit, true, data);
#endif
  }
#ifdef ALLREDUCE_INIT
  start_after(data);
#endif
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  test_that(sum == test_size, "the sum of ones is %d after the mistakes", sum);
  test_carried_since(before, 1, sizeof one);
  free(data);
  return test_end();
}
