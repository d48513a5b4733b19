/* SPDX-License-Identifier: BSD-3-Clause */
/* phases FOLDER: before it starts MPI, before its first call and before its last one each rank says so and waits for a
 * file in FOLDER: init, first, last. Whoever started the program breaks rails at these moments. Calls are checked while
 * lanes come up and until rails carry them; the last one is small, so that a rank may be done with it, and on its way
 * out of MPI, while others still wait for what it has sent. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

enum { COUNT = 1 << 16, FEW = 1000 };

static int* data;

static void await(const char* folder, const char* phase) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, phase);
  printf("before %s\n", phase);
  fflush(stdout);
  while (0 != access(path, F_OK)) {
    usleep(5000);
  }
}

static bool call(int count) {
  for (int i = 0; i < count; i++) {
    data[i] = i * (test_rank + 1);
  }
  bool good = test_that(MPI_SUCCESS == MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "a call failed");
  for (int i = 0; good && i < count; i++) {
    good = test_that(data[i] == i * (test_size * (test_size + 1) / 2), "element %d is wrong", i);
  }
  return good;
}

int main(int argc, char** argv) {
  enum { CALLS = 20 };
  const char* folder = argc > 1 ? argv[1] : ".";
  bool good = true;
  data = malloc(COUNT * sizeof *data);
  await(folder, "init");
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  await(folder, "first");
  for (int i = 0; i < CALLS; i++) {
    good = call(COUNT) && good;
  }
  good = test_that(test_settles(MPI_COMM_WORLD, 60), "rails did not take over") && good;
  for (int i = 0; i < CALLS; i++) {
    good = call(COUNT) && good;
  }
  await(folder, "last");
  MPI_Barrier(MPI_COMM_WORLD);
  if (0 == test_rank) {
    usleep(500000); /* what the others send is there by then: it waits for nobody, and nothing is sent again before it leaves */
  }
  good = call(FEW) && good;
  printf("rank %d has done its last call, %s\n", test_rank, good ? "all are right" : "something was wrong");
  fflush(stdout);
  test_forget_counters();
  MPI_Finalize();
  return good ? 0 : 1;
}
