/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that forks between its calls, whose children end, with what a process does at its exit or without, become
 * another program, or read the counters: they have no engine, since its lock may be held by a thread that they lack. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static void have_child(int kind) {
  pid_t child = fork();
  if (0 == child) {
    switch (kind) {
      case 0:
        execl("/bin/true", "true", (char*)NULL);
        _exit(1);
      case 1:
        exit(0);
      case 2:
        _exit(0 == test_carried().calls ? 0 : 2);
      default:
        _exit(0);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  test_that(0 == status, "a child ended with status %d", status);
}

int main(int argc, char** argv) {
  enum { ROUNDS = 20, COUNT = 50000 };
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  int* data = malloc(COUNT * sizeof *data);
  test_settle(MPI_COMM_WORLD);
  struct test_carried before = test_carried();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < COUNT; i++) {
      data[i] = test_rank + i;
    }
    have_child(round % 4);
    MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
      if (!test_that(data[i] == test_size * (test_size - 1) / 2 + test_size * i, "element %d is wrong", i)) {
        break;
      }
    }
  }
  test_carried_since(before, ROUNDS, ROUNDS * COUNT * 4LL);
  free(data);
  return test_end();
}
