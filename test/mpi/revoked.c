/* SPDX-License-Identifier: BSD-3-Clause */
/* revoked [requests]: rank 0 revokes a communicator while the others are in an allreduce of it, to which it does not
 * come, or with "requests" wait for one that does not block. They get MPIX_ERR_REVOKED at once, and all shrink the
 * communicator. Ends with status 77 where MPI cannot. */
#include <mpi.h>

#include <mpi-ext.h>
#include <stdio.h>
#include <unistd.h>

#include "common.h"

#if defined OMPI_HAVE_MPI_EXT_FTMPI && OMPI_HAVE_MPI_EXT_FTMPI
static int call(MPI_Comm comm, bool requests) {
  int value = 1;
  if (!requests) {
    return MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
  }
  MPI_Request request;
  int rc = MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm, &request);
  test_that(MPI_SUCCESS == rc, "no request could be begun");
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void shrink(MPI_Comm comm) {
  MPI_Comm rest;
  int one = 1, sum = 0;
  MPIX_Comm_shrink(comm, &rest);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, rest);
  test_that(test_size == sum, "%d of %d ranks are left", sum, test_size);
  MPI_Comm_free(&rest);
}

static void revoke_under_others(bool requests) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* where Open MPI raises those of collective requests */
  test_settle(comm);
  if (0 == test_rank) {
    sleep(1);
    MPIX_Comm_revoke(comm);
  } else {
    const double before = MPI_Wtime();
    int class = MPI_SUCCESS;
    MPI_Error_class(call(comm, requests), &class);
    test_that(MPIX_ERR_REVOKED == class, "the call returns an error of class %d", class);
    test_that(MPI_Wtime() - before < 5, "it took %.1f s", MPI_Wtime() - before);
  }
  shrink(comm);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  revoke_under_others(argc > 1);
  return test_end();
}
#else
int main(void) { return 77; }
#endif
