/* SPDX-License-Identifier: BSD-3-Clause */
/// What a rank costs on the way from MPI_Init to working: memory, sockets, time. Plain MPI; rank 0 prints one JSON object.
/// Run with the component and without, the difference is the component's.
#include <dirent.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "nezha_counters.h"

enum { kTeams = 15, kLargest = 1 << 20, kPollMicroseconds = 50000 };
static const double kQuietSeconds = 1.0;    ///< without a new socket: all lanes are up
static const double kPatienceSeconds = 120;

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/// Processor time of all threads but the caller's.
static double others_time(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID); }

/// KiB that no other process shares.
static double own_memory(void) {
  char line[256];
  double sum = 0, kib = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Private_Clean: %lf", &kib) == 1 || sscanf(line, "Private_Dirty: %lf", &kib) == 1) sum += kib;
  if (file != NULL) fclose(file);
  return sum;
}

static double count_sockets(void) {
  char path[300], target[64];
  int sockets = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    sockets += length > 7 && memcmp(target, "socket:", 7) == 0;
  }
  if (folder != NULL) closedir(folder);
  return sockets;
}

/// The first call, then sleep until no socket has come for a while. When the last one came.
static double wait_for_lanes(double* vector) {
  MPI_Allreduce(MPI_IN_PLACE, vector, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double changed = MPI_Wtime();
  for (double before = count_sockets(); MPI_Wtime() - changed < kQuietSeconds;) {
    usleep(kPollMicroseconds);
    const double now = count_sockets();
    if (now != before) changed = MPI_Wtime();
    before = now;
  }
  return changed;
}

/// Small calls until all ranks' are carried by rails; false: they never were.
static int take_over(void) {
  const double started = MPI_Wtime();
  for (int all = 0; MPI_Wtime() - started < kPatienceSeconds;) {
    const unsigned long before = nezha_counters_read().calls;
    MPI_Allreduce(MPI_IN_PLACE, &(int){1}, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    int mine[2] = {nezha_counters_read().calls > before, MPI_Wtime() - started < kPatienceSeconds / 2};
    MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    all = mine[0];
    if (all || !mine[1]) return all;
    usleep(1000);
  }
  return 0;
}

/// Vectors small, middle and large, so that every lane and every kind of buffer is used.
static void work(double* vector) {
  const int bytes[] = {8, 8192, 65536, 262144, kLargest};
  for (int times = 0; times < 3; times++)
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
      MPI_Allreduce(MPI_IN_PLACE, vector, bytes[i] / (int)sizeof *vector, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static int compare(const void* a, const void* b) { return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b); }

/// The first small call of a new communicator and its second, each as its slowest rank has it; medians, microseconds.
static void time_teams(double* first, double* second) {
  double times[2][kTeams];
  for (int team = 0; team < kTeams; team++) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int call = 0; call < 2; call++) {
      double value = 1, taken = 0;
      MPI_Barrier(MPI_COMM_WORLD);
      const double started = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, copy);
      taken = (MPI_Wtime() - started) * 1e6;
      MPI_Reduce(&taken, &times[call][team], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&copy);
  }
  for (int call = 0; call < 2; call++) qsort(times[call], kTeams, sizeof times[call][0], compare);
  *first = times[0][kTeams / 2];
  *second = times[1][kTeams / 2];
}

int main(int argc, char** argv) {
  enum { kInit, kWiring, kWiringCpu, kSockets, kAtStart, kWired, kWorked, kCount };
  double mine[kCount], most[kCount], sum[kCount], first, second;
  int rank, ranks;
  const double started = seconds_of(CLOCK_MONOTONIC);
  MPI_Init(&argc, &argv);
  mine[kInit] = (seconds_of(CLOCK_MONOTONIC) - started) * 1e3;
  const bool there = nezha_counters_open();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* vector = calloc(1, kLargest);
  if (vector == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  mine[kAtStart] = own_memory();

  const double wiring = MPI_Wtime(), cpu = others_time();
  mine[kWiring] = (wait_for_lanes(vector) - wiring) * 1e3;
  mine[kWiringCpu] = (others_time() - cpu) * 1e3;
  const int carried = there && take_over();
  mine[kSockets] = count_sockets();
  mine[kWired] = own_memory();
  work(vector);
  mine[kWorked] = own_memory();
  time_teams(&first, &second);

  MPI_Reduce(mine, most, kCount, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine, sum, kCount, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("{\"ranks\": %d, \"carried\": %s, \"init_ms\": %.1f, \"wiring_ms\": %.0f, \"wiring_cpu_ms\": %.2f, \"sockets\": %.1f, "
           "\"start_kib\": %.0f, \"wired_kib\": %.0f, \"worked_kib\": %.0f, \"first_us\": %.0f, \"second_us\": %.0f}\n",
           ranks, carried ? "true" : "false", most[kInit], most[kWiring], sum[kWiringCpu] / ranks, sum[kSockets] / ranks,
           sum[kAtStart] / ranks, sum[kWired] / ranks, sum[kWorked] / ranks, first, second);
  free(vector);
  nezha_counters_close();
  return MPI_Finalize();
}
