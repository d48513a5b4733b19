/* SPDX-License-Identifier: BSD-3-Clause */
/// nezha_overlap_bench [--rounds N] [--together N] [--sleep 1] SIZE...: what allreduces that do not block are worth. Plain
/// MPI: what carries them is whatever the MPI library was told to use. A line of JSON for each size in bytes, of medians
/// over the rounds of the slowest rank's times, in microseconds: blocking; pure (MPI_Iallreduce and MPI_Wait at once);
/// compute (a computation as long as pure, without any MPI call); total (that computation between MPI_Iallreduce and
/// MPI_Wait); row (N blocking calls, one after another) and together (N begun at once, and MPI_Waitall). Rank 0 counts
/// the calls that it made, and by Nezha's counters those that the component carried.
/// With --sleep 1 the computation sleeps: as where each rank has a core to spare, on a machine that has not.
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nezha_counters.h"

enum { kMostTogether = 64, kWarmUp = 5 };
enum kind { kBlocking, kPure, kCompute, kTotal, kRow, kTogether, kKinds };
static const char* const kNames[kKinds] = {"blocking", "pure", "compute", "total", "row", "together"};
static const double kSettleSeconds = 3.0;
/// A rate limiter lets a burst pass after a pause: all measurements begin after one, or none of them may be compared.
static const double kPauseSeconds = 0.01;

static float* vectors[kMostTogether];
static int together = 16;
static int sleeps;
static unsigned long made, carried;
static double work_per_second;  ///< units of work()
static volatile double sink;

static void work(double units) {
  double x = 1.0;
  for (double done = 0; done < units; done += 1) {
    for (int i = 0; i < 64; i++) x = x * 1.0000001 + 1e-9;
  }
  sink = x;
}

static void sleep_for(double seconds) {
  struct timespec span = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&span, &span) != 0 && errno == EINTR) {
  }
}

static void compute(double seconds) {
  if (sleeps)
    sleep_for(seconds);
  else
    work(seconds * work_per_second);
}

static void calibrate(void) {
  for (int i = 0; i < 20; i++) {
    const double units = 20000, start = MPI_Wtime();
    work(units);
    const double rate = units / (MPI_Wtime() - start);
    if (rate > work_per_second) work_per_second = rate;
  }
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

/// The slowest rank's.
static double slowest(double own) {
  double most = 0;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static unsigned long carried_by_now(void) {
  const struct nezha_counts now = nezha_counters_read();
  return now.calls > now.memory_calls ? now.calls : now.memory_calls;
}

static void blocking(int count, int calls) {
  for (int i = 0; i < calls; i++) MPI_Allreduce(MPI_IN_PLACE, vectors[i], count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void nonblocking(int count, int calls, double seconds) {
  MPI_Request requests[kMostTogether];
  for (int i = 0; i < calls; i++)
    MPI_Iallreduce(MPI_IN_PLACE, vectors[i], count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  if (seconds > 0) compute(seconds);
  MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
}

/// `seconds`: what a computation takes. Returns the calls made.
static int do_once(enum kind kind, int count, double seconds) {
  switch (kind) {
    case kBlocking: blocking(count, 1); return 1;
    case kPure: nonblocking(count, 1, 0); return 1;
    case kTotal: nonblocking(count, 1, seconds); return 1;
    case kRow: blocking(count, together); return together;
    case kTogether: nonblocking(count, together, 0); return together;
    case kCompute:
    case kKinds: break;
  }
  compute(seconds);
  return 0;
}

static double timed(enum kind kind, int count, double seconds) {
  sleep_for(kPauseSeconds);
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long before = carried_by_now();
  const double start = MPI_Wtime();
  made += (unsigned long)do_once(kind, count, seconds);
  const double took = MPI_Wtime() - start;
  carried += carried_by_now() - before;
  return slowest(took);
}

/// Kinds take turns, each being the first of a round as often as the others.
static void rounds_of(enum kind from, enum kind to, int count, double seconds, int rounds, double* medians) {
  double* values = malloc((size_t)(kKinds * rounds) * sizeof *values);
  if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  const int kinds = (int)(to - from) + 1;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < kinds; i++) {
      const enum kind kind = (enum kind)((int)from + (round + i) % kinds);
      values[(int)kind * rounds + round] = timed(kind, count, seconds);
    }
  }
  for (int kind = (int)from; kind <= (int)to; kind++) medians[kind] = median(values + kind * rounds, rounds);
  free(values);
}

static void measure(long bytes, int rounds, int rank) {
  const int count = (int)(bytes / (long)sizeof(float));
  double medians[kKinds];
  made = carried = 0;
  for (int i = 0; i < kWarmUp; i++) {
    timed(kBlocking, count, 0);
    timed(kPure, count, 0);
  }
  rounds_of(kBlocking, kPure, count, 0, rounds, medians);
  rounds_of(kCompute, kTogether, count, medians[kPure], rounds, medians);
  if (rank != 0) return;
  printf("{\"kind\": \"size\", \"size\": %ld, \"calls\": %d", bytes, together);
  for (int kind = 0; kind < kKinds; kind++) printf(", \"%s\": %.2f", kNames[kind], medians[kind] * 1e6);
  printf(", \"made\": %lu, \"carried\": %lu}\n", made, carried);
  fflush(stdout);
}

static int usage(int rank) {
  if (rank == 0) fprintf(stderr, "usage: nezha_overlap_bench [--rounds N] [--together N] [--sleep 1] SIZE...\n");
  MPI_Finalize();
  return 2;
}

int main(int argc, char** argv) {
  int rank, rounds = 21, first = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    if (strcmp(argv[first], "--rounds") == 0) rounds = atoi(argv[first + 1]);
    else if (strcmp(argv[first], "--sleep") == 0) sleeps = atoi(argv[first + 1]);
    else if (strcmp(argv[first], "--together") == 0) together = atoi(argv[first + 1]);
    else return usage(rank);
  }
  if (rounds < 1 || together < 1 || together > kMostTogether || first >= argc) return usage(rank);
  long largest = 1 << 20;
  for (int i = first; i < argc; i++) {
    const long bytes = atol(argv[i]);
    if (bytes < (long)sizeof(float) || bytes > 1L << 30) return usage(rank);
    if (bytes > largest) largest = bytes;
  }
  for (int i = 0; i < together; i++)
    if ((vectors[i] = calloc((size_t)largest, 1)) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  calibrate();
  nezha_counters_open();
  const double start = MPI_Wtime();
  do blocking(1 << 15, 5 < together ? 5 : together);
  while (slowest(MPI_Wtime() - start > kSettleSeconds) < 1);
  for (int i = first; i < argc; i++) measure(atol(argv[i]), rounds, rank);
  for (int i = 0; i < together; i++) free(vectors[i]);
  nezha_counters_close();
  MPI_Finalize();
  return 0;
}
