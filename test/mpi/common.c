/* SPDX-License-Identifier: BSD-3-Clause */
#include "common.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int test_rank, test_size;

static atomic_int complaints;
static MPI_T_pvar_session session;

struct counter {
  MPI_T_pvar_handle handle;
  bool there;
};
static struct counter calls, bytes;

static void find_counter(const char* name, struct counter* counter) {
  int index = 0, count = 0;
  counter->there = MPI_SUCCESS == MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index) &&
                   MPI_SUCCESS == MPI_T_pvar_handle_alloc(session, index, NULL, &counter->handle, &count) && 1 == count;
}

static long long read_counter(struct counter* counter) {
  unsigned long long value = 0;
  if (!counter->there || MPI_SUCCESS != MPI_T_pvar_read(session, counter->handle, &value)) {
    return -1;
  }
  return (long long)value;
}

void test_begin(int* argc, char*** argv, int level) {
  int got = 0;
  MPI_Init_thread(argc, argv, level, &got);
  if (got < level) {
    fprintf(stderr, "this Open MPI does not offer the thread level\n");
    MPI_Abort(MPI_COMM_WORLD, 77);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &test_size);
  test_watch_counters();
}

void test_watch_counters(void) {
  int got = 0;
  /* Inside MPI's own time: Open MPI 4.1 crashes in an MPI_T_finalize that comes after MPI_Finalize. */
  MPI_T_init_thread(MPI_THREAD_SINGLE, &got);
  MPI_T_pvar_session_create(&session);
  const char* memory = getenv("NEZHA_COUNTS_MEMORY"); /* ranks of one node, whose calls no rail carries */
  find_counter(NULL != memory ? "coll_nezha_memory_calls" : "coll_nezha_calls", &calls);
  find_counter(NULL != memory ? "coll_nezha_memory_bytes" : "coll_nezha_bytes", &bytes);
}

int test_end(void) {
  int mine = complaints, all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (0 == test_rank) {
    if (0 == all) {
      printf("passed\n");
    } else {
      printf("failed: %d complaints\n", all);
    }
    fflush(stdout);
  }
  test_forget_counters();
  MPI_Finalize();
  return 0 == all ? 0 : 1;
}

void test_forget_counters(void) {
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

bool test_that(bool good, const char* text, ...) {
  enum { SHOWN = 10 };
  if (!good && complaints++ < SHOWN) {
    char line[512];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(line, sizeof line, text, arguments);
    va_end(arguments);
    fprintf(stderr, "rank %d: %s\n", test_rank, line);
  }
  return good;
}

struct test_carried test_carried(void) {
  return (struct test_carried){.calls = read_counter(&calls), .bytes = read_counter(&bytes)};
}

void test_carried_since(struct test_carried before, long long wanted_calls, long long wanted_bytes) {
  struct test_carried now = test_carried();
  test_that(now.calls >= 0 && now.calls - before.calls >= wanted_calls, "rails carried %lld calls, not %lld",
            now.calls - before.calls, wanted_calls);
  test_that(now.bytes >= 0 && now.bytes - before.bytes >= wanted_bytes, "rails carried %lld bytes, not %lld",
            now.bytes - before.bytes, wanted_bytes);
}

bool test_settles(MPI_Comm comm, double seconds) {
  double deadline = MPI_Wtime() + seconds;
  int carried = 0, in_time = 1, size = 0;
  MPI_Comm_size(comm, &size);
  while (!carried && in_time) {
    struct test_carried before = test_carried();
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    test_that(sum == size, "the sum is %d, not %d, while lanes come up", sum, size);
    // One verdict for all ranks, by operations that the component does not carry.
    int mine[2] = {test_carried().calls > before.calls, MPI_Wtime() < deadline}, all[2] = {0, 0};
    MPI_Reduce(mine, all, 2, MPI_INT, MPI_MIN, 0, comm);
    MPI_Bcast(all, 2, MPI_INT, 0, comm);
    carried = all[0];
    in_time = all[1];
    usleep(carried ? 0 : 2000);
  }
  return carried;
}

void test_settle(MPI_Comm comm) { test_that(test_settles(comm, 20.0), "rails did not take over within 20 s"); }

void test_settle_and_say(MPI_Comm comm) {
  test_settle(comm);
  printf("calls go over rails on rank %d\n", test_rank);
  fflush(stdout);
}

int test_until_error(MPI_Comm comm, int* data, int count, double* took) {
  double deadline = MPI_Wtime() + 60.0;
  int rc = MPI_SUCCESS;
  while (MPI_SUCCESS == rc && MPI_Wtime() < deadline) {
    double before = MPI_Wtime();
    rc = MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm);
    usleep(1000);
    *took = MPI_Wtime() - before;
  }
  test_that(MPI_SUCCESS != rc, "no call failed within a minute");
  return rc;
}

void test_set_errhandlers(MPI_Errhandler errors) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
}

bool test_is_long(void) { return NULL != getenv("NEZHA_LONG"); }

unsigned test_number(unsigned seed, unsigned rank, size_t index) {
  unsigned long long x = 0x9e3779b97f4a7c15ull * (seed + 1) + 0xbf58476d1ce4e5b9ull * (rank + 1) + index;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return (unsigned)(x >> 32);
}
