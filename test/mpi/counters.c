/* SPDX-License-Identifier: BSD-3-Clause */
/* Some allreduces of several sizes, then what the counters say: each variable's name and values, as rank 0 sees them,
 * and "least", the fewest calls that any rank carried. Says "absent" for variables that do not exist. Arguments: the
 * number of rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static void print_variable(MPI_T_pvar_session session, const char* name) {
  int index = 0, count = 0;
  MPI_T_pvar_handle handle;
  unsigned long long values[64] = {0};
  if (MPI_SUCCESS != MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index) ||
      MPI_SUCCESS != MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) || count > 64) {
    printf("%s absent\n", name);
    return;
  }
  MPI_T_pvar_read(session, handle, values);
  printf("%s", name);
  for (int i = 0; i < count; i++) {
    printf(" %llu", values[i]);
  }
  printf("\n");
  MPI_T_pvar_handle_free(session, &handle);
}

static void print_variables(void) {
  static const char* const names[] = {"calls",
                                      "bytes",
                                      "aggregated_bytes",
                                      "memory_calls",
                                      "memory_bytes",
                                      "memory_time",
                                      "memory_copying_in",
                                      "memory_reducing",
                                      "memory_gathering",
                                      "memory_between",
                                      "memory_sharing",
                                      "rail_bytes_sent",
                                      "rail_bytes_received",
                                      "rail_frames_sent",
                                      "rail_frames_received",
                                      "rail_retransmissions",
                                      "rail_busy",
                                      "rail_share",
                                      "rail_suspicions",
                                      "rail_failovers",
                                      "rail_reconnections"};
  MPI_T_pvar_session session;
  MPI_T_pvar_session_create(&session);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char name[64];
    snprintf(name, sizeof name, "coll_nezha_%s", names[i]);
    print_variable(session, name);
  }
  MPI_T_pvar_session_free(&session);
}

/// NEZHA_TEST_LATE_MS: how long this rank computes before each call, when the others do not.
static void check_sums(int rounds) {
  const char* late = getenv("NEZHA_TEST_LATE_MS");
  static const int counts[] = {1, 1000, 30000, 400000};
  for (int round = 0; round < rounds; round++) {
    int count = counts[round % 4];
    int* data = malloc((size_t)count * sizeof *data);
    for (int i = 0; i < count; i++) {
      data[i] = i * (test_rank + 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
      if (!test_that(data[i] == i * (test_size * (test_size + 1) / 2), "element %d of %d is wrong", i, count)) {
        break;
      }
    }
    free(data);
    usleep(1000 + (late != NULL ? 1000 * (useconds_t)atoi(late) : 0));
  }
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  if (argc > 2) {
    test_settles(MPI_COMM_WORLD, atof(argv[2]));
  }
  check_sums(argc > 1 ? atoi(argv[1]) : 200);
  long long calls = test_carried().calls, least = 0;
  MPI_Reduce(&calls, &least, 1, MPI_LONG_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  if (0 == test_rank) {
    print_variables();
    printf("least %lld\n", least);
    fflush(stdout);
  }
  return test_end();
}
