/* SPDX-License-Identifier: BSD-3-Clause */
/// nezha_overlap_bench [--rounds N] [--together N] [--sleep 1] SIZE...: what allreduces that do not block are worth. Plain MPI: what
/// carries them is whatever the MPI library was told to use. One line a size, of medians over the rounds of the slowest
/// rank's times, in microseconds: blocking; pure (MPI_Iallreduce and MPI_Wait at once); total (with as much computation in
/// between as pure takes, without any MPI call) and what part of pure that hides; N calls in a row, and N begun together.
/// With --sleep 1 the computation sleeps: as where each rank has a core to spare, on a machine that has not.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostTogether = 64, kWarmUp = 5 };
static const double kSettleSeconds = 3.0;

static float* vectors[kMostTogether];
static double work_per_second;  ///< units of work()
static volatile double sink;
static int sleeps;

static void work(double units) {
  double x = 1.0;
  for (double done = 0; done < units; done += 1) {
    for (int i = 0; i < 64; i++) x = x * 1.0000001 + 1e-9;
  }
  sink = x;
}

static void compute(double seconds) {
  const struct timespec span = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  if (sleeps) nanosleep(&span, NULL);
  else work(seconds * work_per_second);
}

static void calibrate(void) {
  double best = 0;
  for (int i = 0; i < 20; i++) {
    const double units = 20000, start = MPI_Wtime();
    work(units);
    const double rate = units / (MPI_Wtime() - start);
    if (rate > best) best = rate;
  }
  work_per_second = best;
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

static void blocking(int count) { MPI_Allreduce(MPI_IN_PLACE, vectors[0], count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }

static void together(int count, int number, double seconds) {
  MPI_Request requests[kMostTogether];
  for (int i = 0; i < number; i++)
    MPI_Iallreduce(MPI_IN_PLACE, vectors[i], count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
  if (seconds > 0) compute(seconds);
  MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
}

static double timed(int kind, int count, int number, double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (kind == 0)
    for (int i = 0; i < number; i++) blocking(count);
  else
    together(count, number, seconds);
  return slowest(MPI_Wtime() - start);
}

static void measure(long bytes, int rounds, int number, int rank) {
  const int count = (int)(bytes / (long)sizeof(float));
  double *block = malloc((size_t)rounds * sizeof(double)), *pure = malloc((size_t)rounds * sizeof(double)),
         *total = malloc((size_t)rounds * sizeof(double)), *row = malloc((size_t)rounds * sizeof(double)),
         *all = malloc((size_t)rounds * sizeof(double)), *alone = malloc((size_t)rounds * sizeof(double));
  for (int i = 0; i < kWarmUp; i++) {
    timed(0, count, 1, 0);
    timed(1, count, 1, 0);
  }
  for (int i = 0; i < rounds; i++) {
    block[i] = timed(0, count, 1, 0);
    pure[i] = timed(1, count, 1, 0);
  }
  double* copy = malloc((size_t)rounds * sizeof(double));
  memcpy(copy, pure, (size_t)rounds * sizeof(double));
  const double span = median(copy, rounds);
  for (int i = 0; i < rounds; i++) {
    total[i] = timed(1, count, 1, span);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    compute(span);
    alone[i] = slowest(MPI_Wtime() - start);
    row[i] = timed(0, count, number, 0);
    all[i] = timed(1, count, number, 0);
  }
  const double b = median(block, rounds), p = median(pure, rounds), t = median(total, rounds), c = median(alone, rounds);
  const double r = median(row, rounds), a = median(all, rounds);
  if (rank == 0) {
    printf("%10ld blocking %9.1f pure %9.1f total %9.1f compute %9.1f overlap %5.1f %% row%d %9.1f together %9.1f gain %.3f\n",
           bytes, b * 1e6, p * 1e6, t * 1e6, c * 1e6, 100 * (1 - (t - c) / p), number, r * 1e6, a * 1e6, r / a);
    fflush(stdout);
  }
  free(block), free(pure), free(total), free(row), free(all), free(alone), free(copy);
}

int main(int argc, char** argv) {
  int rank, rounds = 21, number = 16, first = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    if (strcmp(argv[first], "--rounds") == 0) rounds = atoi(argv[first + 1]);
    if (strcmp(argv[first], "--sleep") == 0) sleeps = atoi(argv[first + 1]);
    if (strcmp(argv[first], "--together") == 0) number = atoi(argv[first + 1]);
  }
  if (rounds < 1 || number < 1 || number > kMostTogether || first >= argc) {
    if (rank == 0) fprintf(stderr, "usage: nezha_overlap_bench [--rounds N] [--together N] [--sleep 1] SIZE...\n");
    MPI_Finalize();
    return 2;
  }
  long largest = 1 << 20;
  for (int i = first; i < argc; i++) largest = atol(argv[i]) > largest ? atol(argv[i]) : largest;
  for (int i = 0; i < number; i++) vectors[i] = calloc((size_t)largest, 1);
  calibrate();
  for (double start = MPI_Wtime(), over = 0; over < 1;) {
    for (int i = 0; i < 5; i++) blocking(1 << 15);
    over = slowest(MPI_Wtime() - start > kSettleSeconds);
  }
  for (int i = first; i < argc; i++) measure(atol(argv[i]), rounds, number, rank);
  MPI_Finalize();
  return 0;
}
