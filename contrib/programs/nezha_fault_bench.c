/* SPDX-License-Identifier: BSD-3-Clause */
/// nezha_fault_bench BYTES: MPI_Allreduce of floats over MPI_COMM_WORLD again and again until somebody ends it, while
/// contrib/faults breaks rails. Rank 0 prints when each call began and ended, by the clock that all processes of this
/// machine share; every element of every result is checked, outside that time. What is wrong ends the job.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_data.h"
#include "bench_options.h"
#include "nezha_counters.h"

/// Inputs are made once: making them anew would take as long as the call.
enum { INPUTS = 4 };

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int leave(int rank, const char* what, unsigned long call) {
  fprintf(stderr, "nezha_fault_bench: rank %d: %s in call %lu\n", rank, what, call);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return EXIT_FAILURE;
}

static int run(size_t bytes, int rank, int ranks) {
  const size_t count = bytes / sizeof(float);
  void *in[INPUTS], *out = malloc(bytes);
  struct bench_fault fault;
  const int nezha = nezha_counters_open();
  for (int i = 0; i < INPUTS; i++) {
    in[i] = malloc(bytes);
    if (in[i] == NULL || out == NULL) return leave(rank, "there is not enough memory", 0);
    bench_fill(in[i], count, BENCH_FLOAT, (uint64_t)i, rank);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (unsigned long call = 0;; call++) {
    const unsigned long carried = nezha_counters_read().calls;
    const long long start = now_ns();
    const int rc = MPI_Allreduce(in[call % INPUTS], out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const long long end = now_ns();
    if (rc != MPI_SUCCESS) return leave(rank, "an error was returned", call);
    if (!bench_check_result(out, count, BENCH_FLOAT, BENCH_SUM, call % INPUTS, ranks, &fault))
      return leave(rank, "a result is wrong", call);
    if (rank == 0)
      printf("{\"kind\":\"call\",\"start_ns\":%lld,\"end_ns\":%lld,\"nezha\":%s}\n", start, end,
             nezha && nezha_counters_read().calls != carried ? "true" : "false");
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, status = EXIT_FAILURE;
  size_t bytes = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 2 && bench_parse_size(argv[1], &bytes) && bytes >= sizeof(float))
    status = run(bytes, rank, ranks);
  else if (rank == 0)
    fprintf(stderr, "usage: %s BYTES, as in 64K or 16M, at least 4\n", argv[0]);
  MPI_Finalize();
  return status;
}
