/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce on a communicator made from a session, without MPI_Init, MPI_COMM_WORLD and MPI_COMM_SELF: rails must carry it,
 * with sums of the component's own and with those that it asks MPI for. Ends with status 77 where MPI has no sessions. */
#include <stdio.h>

#include "common.h"

#ifdef MPI_SESSION_NULL
enum { CALLS = 10, COUNT = 1000 };

static bool int_sums(MPI_Comm comm) {
  static int data[COUNT];
  bool good = true;
  for (int i = 0; i < COUNT; i++) {
    data[i] = test_rank + i;
  }
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < COUNT; i++) {
    int wanted = test_size * (test_size - 1) / 2 + test_size * i;
    good = test_that(data[i] == wanted, "element %d is %d, not %d", i, data[i], wanted) && good;
  }
  return good;
}

static bool long_double_sums(MPI_Comm comm) {
  static long double data[COUNT];
  bool good = true;
  for (int i = 0; i < COUNT; i++) {
    data[i] = i;
  }
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_LONG_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < COUNT; i++) {
    good = test_that(data[i] == (long double)i * test_size, "element %d is %Lg on %d ranks", i, data[i], test_size) && good;
  }
  return good;
}

static bool calls_are_carried(MPI_Comm comm) {
  bool good = true;
  struct test_carried before = test_carried();
  for (int call = 0; call < CALLS; call += 2) {
    good = int_sums(comm) && long_double_sums(comm) && good;
  }
  test_carried_since(before, CALLS, (long long)(CALLS * COUNT * sizeof(int)));
  return good && test_carried().calls - before.calls >= CALLS;
}

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "nezha.test.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &test_rank);
  MPI_Comm_size(comm, &test_size);
  test_watch_counters();
  int good = test_settles(comm, 20.0) && calls_are_carried(comm), all = 0;
  MPI_Reduce(&good, &all, 1, MPI_INT, MPI_MIN, 0, comm);
  if (0 == test_rank) {
    printf(all ? "passed\n" : "failed\n");
  }
  test_forget_counters();
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return good ? 0 : 1;
}
#else
int main(void) { return 77; }
#endif
