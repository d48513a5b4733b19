/* SPDX-License-Identifier: BSD-3-Clause */
/* survives SECONDS BYTES [PAUSE_MS [NUISANCE]]: sums of floats, whose bits depend on their order, again and again, while
 * somebody outside breaks rails, with a pause between calls, and with a nuisance (nuisance.h) in the middle third. Inputs repeat every few calls, and results must then have the bits that they had the first time,
 * when nothing was broken yet. Rank 0 prints when calls go over rails, each call that took several times the usual, as
 * "slow START_MS TOOK_MS" since then, and the usual time in the end. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "nuisance.h"

enum { INPUTS = 4, WARM = 24 };

static size_t count;
static float *inputs[INPUTS], *first[INPUTS], *result;

static void make_inputs(void) {
  for (unsigned which = 0; which < INPUTS; which++) {
    inputs[which] = malloc(count * sizeof(float));
    first[which] = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
      unsigned number = test_number(which, (unsigned)test_rank, i);
      inputs[which][i] = ldexpf((float)(int)number, (int)(number % 40) - 20);
    }
  }
  result = malloc(count * sizeof(float));
}

/// One call. The last element is no float of the sum: it tells all ranks alike that rank 0's time is over.
static int call(unsigned number, int over, int* stop) {
  unsigned which = number % INPUTS;
  inputs[which][count - 1] = over ? 1.0f : 0.0f;
  int rc = MPI_Allreduce(inputs[which], result, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (!test_that(MPI_SUCCESS == rc, "call %u failed", number)) {
    *stop = 1;
    return rc;
  }
  *stop = 0.0f != result[count - 1];
  if (number < INPUTS) {
    memcpy(first[which], result, count * sizeof(float));
  }
  test_that(0 == memcmp(first[which], result, (count - 1) * sizeof(float)), "call %u: not the bits of the first time", number);
  return rc;
}

static int compare(const void* a, const void* b) {
  double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

/// Begins the nuisance after a third of the time and ends it after two. Returns how much of that is done.
static int act_in_thirds(int done, double part, const char* nuisance) {
  if (0 == done && part > 1.0 / 3) {
    test_that(nuisance_begin(nuisance), "there is no nuisance '%s'", nuisance);
    return 1;
  }
  if (1 == done) {
    nuisance_between_calls();
  }
  if (1 == done && part > 2.0 / 3) {
    nuisance_end();
    return 2;
  }
  return done;
}

int main(int argc, char** argv) {
  test_begin(&argc, &argv, MPI_THREAD_SINGLE);
  double seconds = argc > 1 ? atof(argv[1]) : 1.0, usual[WARM], start = 0, before, now = 0;
  useconds_t pause = argc > 3 ? 1000 * (useconds_t)atoi(argv[3]) : 0;
  const char* nuisance = argc > 4 ? argv[4] : "none";
  count = (argc > 2 ? (size_t)atol(argv[2]) : 1 << 20) / sizeof(float);
  unsigned calls = 0;
  int stop = 0, third = 0;
  make_inputs();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  test_settle(MPI_COMM_WORLD);
  struct test_carried carried = test_carried();
  for (; !stop; calls++) {
    if (calls > WARM) {
      usleep(pause);
      third = act_in_thirds(third, (MPI_Wtime() - start) / seconds, nuisance);
    }
    before = MPI_Wtime();
    call(calls, 0 == test_rank && calls > WARM && before - start > seconds, &stop);
    now = MPI_Wtime();
    if (calls < WARM) {
      usual[calls] = now - before;
    }
    if (WARM == calls) {
      start = now;
      qsort(usual, WARM, sizeof usual[0], compare);
      if (0 == test_rank) {
        printf("rails carry\n");
      }
    }
    if (0 == test_rank && calls > WARM && now - before > 3 * usual[WARM / 2] + 0.005) {
      printf("slow %.1f %.1f\n", 1e3 * (before - start), 1e3 * (now - before));
    }
    fflush(stdout);
  }
  test_that(2 == third, "the time was over before the nuisance was");
  test_carried_since(carried, calls, 0);
  if (0 == test_rank) {
    printf("%u calls, usually %.2f ms\n", calls, 1e3 * usual[WARM / 2]);
  }
  return test_end();
}
