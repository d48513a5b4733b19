/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_run.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSettled = 64 << 10, kMostBatches = 12, kFewestInBatch = 50 };
enum { kLarge = 8192, kMostIterations = 100000, kFewestIterations = 3, kFewestWarm = 20 };

static double clock_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int bench_ranks(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

static long peak_resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  }
  if (status != NULL) fclose(status);
  return kib;
}

bool bench_allocate(const struct bench_options* options, struct bench_buffers* buffers) {
  const size_t rounded_up = (size_t)bench_ranks() * sizeof(double);
  const size_t bytes = bench_largest(options) + 64 + rounded_up;
  memset(buffers, 0, sizeof *buffers);
  for (int slot = 0; slot < 2; slot++) {
    if (posix_memalign(&buffers->in[slot], 4096, bytes) != 0 || posix_memalign(&buffers->out[slot], 4096, bytes) != 0)
      return false;
  }
  return true;
}

void bench_release(struct bench_buffers* buffers) {
  for (int slot = 0; slot < 2; slot++) {
    free(buffers->in[slot]);
    free(buffers->out[slot]);
  }
}

static void stop(const char* what, uint64_t call, size_t count, const struct bench_fault* fault) {
  fprintf(stderr, "rank %d: %s of call %llu is wrong at element %zu of %zu: %.17g instead of %.17g\n", bench_rank(),
          what, (unsigned long long)call, fault->element, count, fault->got, fault->expected);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void spoil_if_asked(const struct bench_options* o, uint64_t call, char* out, size_t count) {
  const size_t width = bench_type_bytes(o->type);
  if (o->corrupt_rank == bench_rank() && o->corrupt_call == call && o->corrupt_element < count)
    out[o->corrupt_element * width + width - 1] ^= 1;
}

void bench_fill_own(const struct bench_options* o, void* in, void* out, size_t count, uint64_t call) {
  (void)out;
  bench_fill(in, count, o->type, call, bench_rank());
}

bool bench_check_reduced(const struct bench_options* o, const void* out, size_t count, uint64_t call,
                         struct bench_fault* fault) {
  return bench_check_result(out, count, o->type, o->op, call, bench_ranks(), fault);
}

bool bench_check_own(const struct bench_options* o, const void* in, size_t count, uint64_t call,
                     struct bench_fault* fault) {
  return bench_check_input(in, count, o->type, call, bench_rank(), fault);
}

static const struct bench_shape* shape_of(const struct bench_driver* driver) {
  static const struct bench_shape allreduce = {false, bench_fill_own, bench_check_reduced, bench_check_own};
  return driver->shape != NULL ? driver->shape : &allreduce;
}

struct spent {
  double wall;
  double cpu;
  double pause;  ///< before it
};

static void sleep_until(double time) {
  const time_t whole = (time_t)time;
  const struct timespec end = {whole, (long)(1e9 * (time - (double)whole))};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
}

/// One call: data, timed reduction, comparison, barrier.
static struct spent one_call(const struct bench_options* o, const struct bench_driver* driver,
                             struct bench_buffers* buffers, size_t count) {
  const uint64_t call = buffers->call++;
  const int slot = (int)(call & 1);
  void* out = buffers->out[slot];
  void* in = driver->in_place ? out : buffers->in[slot];
  const struct bench_shape* const shape = shape_of(driver);
  shape->fill(o, in, out, count, call);
  if (o->rest > 0 && buffers->ended > 0) sleep_until(buffers->ended + o->rest);

  driver->barrier(driver->context);
  const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double start = clock_seconds(CLOCK_MONOTONIC);
  driver->reduce(driver->context, slot, in, out, count);
  const double end = clock_seconds(CLOCK_MONOTONIC);
  const double pause = buffers->ended > 0 ? start - buffers->ended : 0;
  const struct spent spent = {end - start, clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, pause};
  buffers->ended = end;

  struct bench_fault fault;
  spoil_if_asked(o, call, out, count);
  if (!shape->check_result(o, out, count, call, &fault)) stop("the result", call, count, &fault);
  if (!driver->in_place && !shape->check_input(o, in, count, call, &fault))
    stop("the input after the end", call, count, &fault);
  return spent;
}

static size_t elements(const struct bench_options* o, const struct bench_driver* driver, size_t bytes) {
  const size_t width = bench_type_bytes(o->type), ranks = (size_t)bench_ranks();
  const size_t count = bytes < width ? 1 : bytes / width;
  return shape_of(driver)->blocks ? (count + ranks - 1) / ranks * ranks : count;
}

double bench_warm(const struct bench_options* o, const struct bench_driver* driver, struct bench_buffers* buffers,
                  size_t bytes, long calls) {
  double start = clock_seconds(CLOCK_MONOTONIC);
  for (long i = 0; i < calls; i++) one_call(o, driver, buffers, elements(o, driver, bytes));
  double wall = clock_seconds(CLOCK_MONOTONIC) - start;
  MPI_Bcast(&wall, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return wall;
}

static long clamp(double n, long least, long most) {
  return n < (double)least ? least : n > (double)most ? most : (long)n;
}

/// Batches of calls until two in a row are no faster than one before them, within a twentieth. Returns how many calls
/// that were.
static long warm_until_settled(const struct bench_options* o, const struct bench_driver* driver,
                               struct bench_buffers* buffers, size_t bytes, double call) {
  const long batch = clamp(0.25 * o->budget / call, kFewestInBatch, kMostIterations);
  double best = 0;
  int batches = 0;
  for (int steady = 0; batches < kMostBatches && steady < 2; batches++) {
    const double took = bench_warm(o, driver, buffers, bytes, batch) / (double)batch;
    steady = batches > 0 && took > 0.95 * best ? steady + 1 : 0;
    best = batches == 0 || took < best ? took : best;
  }
  return batches * batch;
}

/// Runs the warm-up and says how many calls to measure; alike on all ranks, since it rests on rank 0's clock.
static long warm_and_plan(const struct bench_options* o, const struct bench_driver* driver,
                          struct bench_buffers* buffers, size_t bytes, long* warmup) {
  const bool large = bytes > kLarge;
  if (o->budget <= 0) {
    *warmup = o->warmup >= 0 ? o->warmup : large ? 10 : 200;
    bench_warm(o, driver, buffers, bytes, *warmup);
    return o->iterations > 0 ? o->iterations : large ? 100 : 1000;
  }
  const double first = bench_warm(o, driver, buffers, bytes, 1);
  const long more = o->warmup >= 0 ? o->warmup - 1 : clamp(0.2 * o->budget / first, kFewestWarm - 1, kMostIterations);
  const double rest = more > 0 ? bench_warm(o, driver, buffers, bytes, more) / (double)more : first;
  *warmup = more > 0 ? more + 1 : 1;
  if (o->settle && bytes <= kSettled) *warmup += warm_until_settled(o, driver, buffers, bytes, rest);
  return o->iterations > 0 ? o->iterations : clamp(o->budget / rest, kFewestIterations, kMostIterations);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/// Rank 0's `walls` becomes the mean over the ranks.
static void mean_calls(double* walls, long n) {
  const int rank = bench_rank();
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : walls, walls, (int)n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (long i = 0; i < n; i++) walls[i] /= bench_ranks();
}

static double* copy_of(const double* values, long n) {
  double* copy = malloc((size_t)n * sizeof *copy);
  if (copy == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memcpy(copy, values, (size_t)n * sizeof *copy);
}

/// Sorts `values`.
static double median(double* values, long n) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  return n % 2 != 0 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static void over_ranks(double own, double* mean, double* least, double* most) {
  double sum = 0;
  MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own, least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own, most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  *mean = sum / bench_ranks();
}

void bench_measure(const struct bench_options* o, const struct bench_driver* driver, struct bench_buffers* buffers,
                   size_t bytes, struct bench_result* result) {
  memset(result, 0, sizeof *result);
  result->bytes = bytes;
  const long n = result->iterations = warm_and_plan(o, driver, buffers, bytes, &result->warmup);
  double* walls = malloc((size_t)n * sizeof *walls);
  if (walls == NULL) MPI_Abort(MPI_COMM_WORLD, 1);

  double wall = 0, cpu = 0, pause = 0;
  if (driver->watch != NULL) driver->watch->begin(driver->watch->context);
  for (long i = 0; i < n; i++) {
    const struct spent spent = one_call(o, driver, buffers, elements(o, driver, bytes));
    walls[i] = spent.wall * 1e6;
    wall += walls[i];
    cpu += spent.cpu;
    pause += spent.pause * 1e6;
  }
  if (driver->watch != NULL) driver->watch->end(driver->watch->context);
  const double gib = (double)bytes * (double)n / (1024.0 * 1024 * 1024);
  double least_cpu, least_pause, most_pause;
  over_ranks(wall / (double)n, &result->average, &result->least, &result->most);
  over_ranks(pause / (double)n, &result->pause, &least_pause, &most_pause);
  over_ranks(cpu / gib, &result->cpu_per_gib, &least_cpu, &result->most_cpu_per_gib);
  mean_calls(walls, n);
  if (o->each && bench_rank() == 0) result->each = copy_of(walls, n);
  result->median = median(walls, n);
  long peak = peak_resident_kib();
  MPI_Reduce(&peak, &result->peak_kib, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  free(walls);
}
