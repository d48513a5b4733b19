/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: threads of each process call allreduce at the same time, each on a communicator of its own. */
#include <pthread.h>
#include <stdlib.h>

#include "common.h"

enum { THREADS = 4, MOST = 60000 };

struct work {
  MPI_Comm comm;
  unsigned seed;
  int calls;
  long long bytes;
};

static void one_call(struct work* work, unsigned call, unsigned* mine, unsigned* result) {
  int count = 1 + (int)(test_number(work->seed, 99, call) % MOST);
  if (call % 3) {
    count = 1 + count % 64;
  }
  for (int i = 0; i < count; i++) {
    mine[i] = test_number(work->seed + call, (unsigned)test_rank, (size_t)i);
  }
  MPI_Allreduce(mine, result, count, MPI_UNSIGNED, MPI_BXOR, work->comm);
  work->bytes += 4LL * count;
  for (int i = 0; i < count; i++) {
    unsigned wanted = 0;
    for (int rank = 0; rank < test_size; rank++) {
      wanted ^= test_number(work->seed + call, (unsigned)rank, (size_t)i);
    }
    if (!test_that(result[i] == wanted, "thread %u, call %u: element %d of %d is wrong", work->seed, call, i, count)) {
      return;
    }
  }
}

static void* run(void* argument) {
  struct work* work = argument;
  unsigned *mine = malloc(MOST * sizeof *mine), *result = malloc(MOST * sizeof *result);
  for (int call = 0; call < work->calls; call++) {
    one_call(work, (unsigned)call, mine, result);
  }
  free(mine);
  free(result);
  return NULL;
}

int main(int argc, char** argv) {
  struct work work[THREADS];
  pthread_t threads[THREADS];
  long long calls = 0, bytes = 0;
  test_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
  for (unsigned i = 0; i < THREADS; i++) {
    work[i] = (struct work){.seed = 1000 * i, .calls = test_is_long() ? 1000 : 120};
    MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm);
    test_settle(work[i].comm);
  }
  struct test_carried before = test_carried();
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, run, &work[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    calls += work[i].calls;
    bytes += work[i].bytes;
  }
  test_carried_since(before, calls, bytes);
  for (int i = 0; i < THREADS; i++) {
    MPI_Comm_free(&work[i].comm);
  }
  return test_end();
}
