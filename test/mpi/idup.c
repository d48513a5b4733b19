/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_idup beside other calls: Open MPI finds the new communicator's number by MPI_Iallreduce on the old one, which each
 * rank calls from within whatever progress it makes next, so in an order of its own among the program's calls. */
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

enum { ROUNDS = 10, CALLS = 10, MOST = 300 };

static void check_sum(MPI_Comm comm, int count, unsigned seed) {
  unsigned data[MOST];
  for (int i = 0; i < count; i++) {
    data[i] = test_number(seed, (unsigned)test_rank, (size_t)i);
  }
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_UNSIGNED, MPI_SUM, comm);
  for (int i = 0; i < count; i++) {
    unsigned wanted = 0;
    for (int rank = 0; rank < test_size; rank++) {
      wanted += test_number(seed, (unsigned)rank, (size_t)i);
    }
    if (!test_that(data[i] == wanted, "element %d of %d is wrong", i, count)) {
      return;
    }
  }
}

/// One rank is further than the others when all come to a barrier.
static void before_any_allreduce(void) {
  MPI_Comm twin;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
  int over = 0;
  for (int i = 0; i < 50 && 0 == test_rank && !over; i++) {
    MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_sum(twin, MOST, 1);
  MPI_Comm_free(&twin);
}

static void among_allreduces(unsigned round) {
  MPI_Comm twin;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
  for (unsigned call = 0; call < CALLS; call++) {
    int over;
    usleep(test_number(round, (unsigned)test_rank, call) % 1000);
    if (test_number(round, (unsigned)test_rank, call + CALLS) % 2 == 0) {
      MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    }
    check_sum(MPI_COMM_WORLD, call % 2 == 0 ? 1 : MOST, 100 * round + call);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_sum(twin, MOST, round);
  MPI_Comm_free(&twin);
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  before_any_allreduce();
  test_settle(MPI_COMM_WORLD);
  for (unsigned round = 0; round < ROUNDS; round++) {
    among_allreduces(round);
  }
  return test_end();
}
