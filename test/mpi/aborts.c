/* SPDX-License-Identifier: BSD-3-Clause */
/* aborts [HOW]: calls allreduce without end. When a signal (SIGUSR1) has come to one rank it ends the job in its own way
 * instead of its next call, for which all others wait: "abort" by MPI_Abort with status 7, "exit" by exit(7), without
 * MPI_Finalize. Errors are fatal, as they are in MPI unless somebody says otherwise. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { COUNT = 1 << 20, STATUS = 7 };

static volatile sig_atomic_t over;

static void end(int number) {
  (void)number;
  over = 1;
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGUSR1, &action, NULL);
  int* data = calloc(COUNT, sizeof *data);
  test_settle_and_say(MPI_COMM_WORLD);
  while (!over) {
    MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (argc > 1 && 0 == strcmp("exit", argv[1])) {
    exit(STATUS);
  }
  MPI_Abort(MPI_COMM_WORLD, STATUS);
  return STATUS;
}
