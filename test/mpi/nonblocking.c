/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduces that do not block, and persistent ones: many at once, waited for in every way and order, beside blocking
 * calls, on several communicators, some of which are freed meanwhile. All must be right; all that rails can carry must
 * go over rails. With the argument "barriers", the program's only blocking calls before that are barriers. Persistent ones are started
 * in the same order on all ranks where strict_persistent_order says so, else not. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "persistent.h"

enum { MOST = 300, LARGEST = 300000 };

static long* vectors[MOST];
static int counts[MOST];

/// Vector `which`, where it is, with what it began with.
static void fill_again(int which) {
  for (int i = 0; i < counts[which]; i++) {
    vectors[which][i] = (long)(test_rank + 1) * (which + 1) + i;
  }
}

/// Vector `which`, so that its sum over the ranks of a communicator is known.
static void fill(int which, unsigned seed) {
  counts[which] = 1 + (int)(test_number(seed, 0, (size_t)which) % (which % 10 == 9  ? LARGEST
                                                                   : which % 3 == 0 ? 10
                                                                                    : 4000));
  vectors[which] = realloc(vectors[which], (size_t)counts[which] * sizeof(long));
  fill_again(which);
}

static void check(int which, const char* what) {
  long ranks = test_size, sum = ranks * (ranks + 1) / 2;
  for (int i = 0; i < counts[which]; i++) {
    long expected = sum * (which + 1) + ranks * i;
    if (!test_that(expected == vectors[which][i], "%s %d of %d: element %d is %ld instead of %ld", what, which,
                   counts[which], i, vectors[which][i], expected)) {
      return;
    }
  }
}

static void begin(int which, MPI_Comm comm, MPI_Request* request) {
  MPI_Iallreduce(MPI_IN_PLACE, vectors[which], counts[which], MPI_LONG, MPI_SUM, comm, request);
}

/// In the order in which they were begun, backwards, any, some, or all.
static void wait_for(int number, MPI_Request* requests, int way) {
  int done[MOST], outcount = 0, index = 0, flag = 0;
  switch (way) {
    case 0:
      MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = number - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
      break;
    case 2:
      for (int i = 0; i < number; i++) {
        MPI_Waitany(number, requests, &index, MPI_STATUS_IGNORE);
        test_that(MPI_UNDEFINED != index, "nothing to wait for");
      }
      break;
    case 3:
      for (int left = number; left > 0; left -= outcount) {
        MPI_Waitsome(number, requests, &outcount, done, MPI_STATUSES_IGNORE);
      }
      break;
    case 4:
      while (!flag) {
        MPI_Testall(number, requests, &flag, MPI_STATUSES_IGNORE);
      }
      break;
    default:
      for (int i = 0; i < number; i++) {
        for (flag = 0; !flag;) {
          MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
        }
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        test_that(flag, "complete, but not for MPI_Test");
      }
  }
  for (int i = 0; i < number; i++) {
    test_that(MPI_REQUEST_NULL == requests[i], "request %d is left", i);
  }
}

static void many_at_once(MPI_Comm comm, int number, int way) {
  MPI_Request requests[MOST];
  for (int i = 0; i < number; i++) {
    fill(i, (unsigned)(number + way));
    begin(i, comm, &requests[i]);
  }
  wait_for(number, requests, way);
  for (int i = 0; i < number; i++) {
    check(i, "vector");
  }
}

/// Ranks wait in different orders, with blocking calls in between.
static void beside_blocking_calls(MPI_Comm comm, MPI_Comm other) {
  MPI_Request requests[40];
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 40; i++) {
      fill(i, (unsigned)round);
      begin(i, 0 == i % 4 ? other : comm, &requests[i]);
      if (7 == i % 10) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, 17 == i ? other : comm);
        test_that(sum == test_size, "the sum of ones is %d", sum);
      }
      if (0 == test_rank % 2 && 5 == i % 7) {
        MPI_Wait(&requests[i / 2], MPI_STATUS_IGNORE);
      }
    }
    if (1 == round % 3 && 0 == test_rank) {
      usleep(20000);
    }
    MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 40; i++) {
      check(i, "vector");
    }
  }
}

static void freed_communicators(void) {
  MPI_Comm comm;
  MPI_Request requests[8];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  test_settle(comm);
  for (int i = 0; i < 8; i++) {
    fill(i, 77);
    begin(i, comm, &requests[i]);
  }
  MPI_Comm_free(&comm);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 8; i++) {
    check(i, "vector of a freed communicator");
  }
}

static void own_operation(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) {
    ((long*)inout)[i] += ((long*)in)[i];
  }
}

/// What goes to Open MPI, beside what does not.
static void what_rails_do_not_carry(MPI_Comm comm) {
  MPI_Op op;
  MPI_Request requests[3];
  int none = 0;
  MPI_Op_create(own_operation, 1, &op);
  fill(0, 5);
  fill(1, 5);
  MPI_Iallreduce(MPI_IN_PLACE, vectors[0], counts[0], MPI_LONG, op, comm, &requests[0]);
  MPI_Iallreduce(&none, &none, 0, MPI_INT, MPI_SUM, comm, &requests[1]);
  begin(1, comm, &requests[2]);
  MPI_Op_free(&op);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  check(0, "own operation");
  check(1, "vector");
}

/// Reduced by Open MPI's functions, which only a thread of the program may call.
static void pairs(MPI_Comm comm) {
  struct {
    double value;
    int rank;
  } mine[500], most[500];
  MPI_Request request;
  for (int i = 0; i < 500; i++) {
    mine[i].value = (test_rank + i) % test_size;
    mine[i].rank = test_rank;
  }
  MPI_Iallreduce(mine, most, 500, MPI_DOUBLE_INT, MPI_MAXLOC, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 500; i++) {
    test_that(most[i].value == test_size - 1 && (most[i].rank + i) % test_size == test_size - 1, "pair %d is (%g, %d)",
              i, most[i].value, most[i].rank);
  }
}

#ifdef ALLREDUCE_INIT
/// Vector 0's: an active one is not started again, and ends as if nobody had tried.
static void start_twice(MPI_Request* request) {
  fill_again(0);
  test_set_errhandlers(MPI_ERRORS_RETURN);
  MPI_Start(request);
  test_that(MPI_SUCCESS != MPI_Start(request), "an active request can be started");
  test_set_errhandlers(MPI_ERRORS_ARE_FATAL);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  check(0, "vector of a request that was started twice");
}
#endif

static bool strict_order(void) {
  const char* const value = getenv("OMPI_MCA_coll_nezha_strict_persistent_order");
  return NULL != value && 0 == strcmp(value, "1");
}

static void reverse(MPI_Request* requests, int count) {
  for (int i = 0; i < count / 2; i++) {
    const MPI_Request first = requests[i];
    requests[i] = requests[count - 1 - i];
    requests[count - 1 - i] = first;
  }
}

static void persistent(MPI_Comm comm) {
#ifdef ALLREDUCE_INIT
  MPI_Request requests[6];
  struct test_carried before = test_carried();
  const bool strict = strict_order();
  for (int i = 0; i < 6; i++) {
    fill(i, 9);
    ALLREDUCE_INIT(MPI_IN_PLACE, vectors[i], counts[i], MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
  }
  for (int round = 0; round < 30; round++) {
    int flag = 0;
    for (int i = 0; i < 6; i++) {
      fill_again(i);
    }
    if (!strict && (test_rank + round / 2) % 2 != 0) {
      reverse(requests, 6);
    }
    if (0 == round % 2) {
      MPI_Startall(6, requests);
      MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    } else {
      for (int i = 0; i < 6; i++) {
        MPI_Start(&requests[i]);
      }
      for (int i = 5; i >= 0; i--) {
        for (flag = 0; !flag;) {
          MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        }
      }
    }
    MPI_Testall(6, requests, &flag, MPI_STATUSES_IGNORE);
    test_that(flag, "inactive ones are complete");
    for (int i = 0; i < 6; i++) {
      check(i, "persistent vector");
      test_that(MPI_REQUEST_NULL != requests[i], "a persistent request is gone");
    }
    if (!strict && (test_rank + round / 2) % 2 != 0) {
      reverse(requests, 6);
    }
  }
  start_twice(&requests[0]);
  for (int i = 0; i < 6; i++) {
    MPI_Request_free(&requests[i]);
  }
  const long long carried = strict ? 6 * 30 : 0;
  test_carried_since(before, carried, carried);
#else
  (void)comm;
  if (0 == test_rank) {
    printf("no persistent collectives here\n");
  }
#endif
}

/// Until rails carry what does not block: barriers agree.
static void settle_by_barriers(void) {
  struct test_carried now, before = test_carried();
  for (int i = 0; i < 2000; i++) {
    MPI_Request request;
    fill(0, 1);
    begin(0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(0, "vector");
    MPI_Barrier(MPI_COMM_WORLD);
    now = test_carried();
    if (now.calls - before.calls > 5 && i > 100) {
      return;
    }
    usleep(5000);
  }
  test_that(0, "rails carry nothing");
}

int main(int argc, char** argv) {
  MPI_Comm other;
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  if (argc > 1 && 0 == strcmp(argv[1], "barriers")) {
    settle_by_barriers();
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  many_at_once(MPI_COMM_WORLD, 20, 0);  // nothing is wired yet, or not on all ranks
  test_settle(MPI_COMM_WORLD);
  test_settle(other);
  struct test_carried before = test_carried();
  long long begun = 0;
  for (int way = 0; way < 6; way++) {
    static const int numbers[] = {1, 16, 64, 65, MOST};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      many_at_once(MPI_COMM_WORLD, numbers[i], way);
      begun += numbers[i];
    }
  }
  test_carried_since(before, begun, begun);
  beside_blocking_calls(MPI_COMM_WORLD, other);
  what_rails_do_not_carry(MPI_COMM_WORLD);
  pairs(MPI_COMM_WORLD);
  freed_communicators();
  persistent(MPI_COMM_WORLD);
  MPI_Comm_free(&other);
  return test_end();
}
