/* SPDX-License-Identifier: BSD-3-Clause */
/* duplicates COUNT BYTES CALLS SECONDS: large calls on one duplicate of MPI_COMM_WORLD after the other. Rank 0 says how many
 * MiB its process then has resident beyond what it had before: "after calls", "idle" when the seconds are over, and "freed",
 * the duplicates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

static double resident(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  test_that(NULL != file && 1 == fscanf(file, "%*d %ld", &pages), "/proc/self/statm cannot be read");
  if (NULL != file) {
    fclose(file);
  }
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void say(const char* when, double before) {
  if (0 == test_rank) {
    printf("%s: %.1f MiB\n", when, resident() - before);
    fflush(stdout);
  }
}

static void call(MPI_Comm comm, int* data, int count) {
  for (int i = 0; i < count; i++) {
    data[i] = i + test_rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_BOR, comm);
  for (int i = 0; i < count; i++) {
    int sum = 0;
    for (int rank = 0; rank < test_size; rank++) {
      sum |= i + rank;
    }
    if (!test_that(data[i] == sum, "element %d is %d, not %d", i, data[i], sum)) {
      break;
    }
  }
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int duplicates = argc > 4 ? atoi(argv[1]) : 2, count = argc > 4 ? atoi(argv[2]) / (int)sizeof(int) : 1000;
  int calls = argc > 4 ? atoi(argv[3]) : 1;
  unsigned seconds = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
  int* data = calloc((size_t)count, sizeof *data);
  MPI_Comm* comms = calloc((size_t)duplicates, sizeof(MPI_Comm));
  test_settle(MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) {
    data[i] = 1; /* every page is there before the first look */
  }
  double before = resident();
  for (int i = 0; i < duplicates; i++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    test_settle(comms[i]);
    for (int j = 0; j < calls; j++) {
      call(comms[i], data, count);
    }
  }
  say("after calls", before);
  sleep(seconds);
  say("idle", before);
  for (int i = 0; i < duplicates; i++) {
    MPI_Comm_free(&comms[i]);
  }
  say("freed", before);
  free(comms);
  free(data);
  return test_end();
}
