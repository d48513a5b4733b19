/* SPDX-License-Identifier: BSD-3-Clause */
/// nezha_rdma_bench [options]: MPI_Allreduce on two ranks beside what a plain SEND program gets from the same RDMA device, in
/// turn within one job. Sizes up to 1 KiB are compared with a ping-pong, larger ones with both ranks' sending the vector
/// at once, which is what an allreduce of two ranks moves. Without --device only the allreduce is measured. Rank 0 prints one
/// JSON object per measurement; every element of every result is checked outside the time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench_data.h"
#include "bench_options.h"
#include "nezha_counters.h"
#include "rdma_raw.h"

enum { kSmall = 1024, kDefaultMessage = 64 * 1024, kSettleBytes = 64 * 1024 };
static const double kSettleSeconds = 20.0;

struct bench {
  struct bench_options options;
  struct raw* raw;  ///< null: there is none
  long rounds;
  int rank;
  void *in, *out;
  uint64_t call;
};

/// Seconds that the machine's processors, and this process, were not idle so far.
struct spent {
  double machine, process;
};

static struct spent spent_now(void) {
  unsigned long long t[8] = {0};
  FILE* const file = fopen("/proc/stat", "r");
  if (file == NULL || fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                             &t[7]) != 8)
    fprintf(stderr, "nezha_rdma_bench: /proc/stat cannot be read\n");
  if (file != NULL) fclose(file);
  struct rusage own;
  getrusage(RUSAGE_SELF, &own);
  return (struct spent){(double)(t[0] + t[1] + t[2] + t[5] + t[6]) / (double)sysconf(_SC_CLK_TCK),
                        (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                            1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec)};
}

static void barrier_done(struct bench* b, const char* kind, size_t bytes, long count, double seconds, struct spent before,
                         unsigned long carried) {
  MPI_Barrier(MPI_COMM_WORLD);
  const struct spent now = spent_now();
  double own[2] = {seconds, now.process - before.process}, sum[2] = {0, 0};
  MPI_Reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (b->rank != 0) return;
  printf("{\"kind\":\"%s\",\"size\":%zu,\"calls\":%ld,\"us\":%.3f,\"machine_s\":%.3f,\"processes_s\":%.3f,\"carried\":%lu}\n", kind,
         bytes, count, 5e5 * sum[0], now.machine - before.machine, sum[1], carried);
  fflush(stdout);
}

static void measure_raw(struct bench* b, size_t bytes) {
  const long calls = b->options.iterations;
  const struct spent before = spent_now();
  double took = 0;
  if (bytes <= kSmall)
    took = raw_ping_pong(b->raw, bytes, calls);
  else
    for (long i = 0; i < calls; i++) took += raw_exchange(b->raw, bytes) / (double)calls;
  barrier_done(b, "send", bytes, calls, took, before, 0);
}

/// Small calls follow one another at once, as messages of a ping-pong do.
static void call_allreduce(struct bench* b, size_t bytes, long calls, double* took) {
  const size_t count = bytes / sizeof(float);
  struct bench_fault fault;
  for (long done = 0; done < calls;) {
    const long row = bytes <= kSmall ? calls - done : 1;
    bench_fill(b->in, count, BENCH_FLOAT, ++b->call, b->rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < row; i++) MPI_Allreduce(b->in, b->out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    *took += (MPI_Wtime() - start) / (double)calls;
    done += row;
    if (bench_check_result(b->out, count, BENCH_FLOAT, BENCH_SUM, b->call, 2, &fault)) continue;
    fprintf(stderr, "nezha_rdma_bench: rank %d: element %zu of %zu bytes is wrong\n", b->rank, fault.element, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void measure_allreduce(struct bench* b, size_t bytes) {
  const struct nezha_counts counts = nezha_counters_read();
  const struct spent before = spent_now();
  double took = 0;
  call_allreduce(b, bytes, b->options.iterations, &took);
  barrier_done(b, "allreduce", bytes, b->options.iterations, took, before, nezha_counters_read().calls - counts.calls);
}

/// Calls until Nezha carries some, or for a while.
static void settle(struct bench* b) {
  const double start = MPI_Wtime();
  double unused = 0;
  for (int done = 0; !done;) {
    const unsigned long before = nezha_counters_read().calls;
    call_allreduce(b, b->options.sizes[0] < kSettleBytes ? b->options.sizes[0] : kSettleBytes, 5, &unused);
    done = nezha_counters_read().calls > before || MPI_Wtime() - start > kSettleSeconds;
    MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

static void run(struct bench* b) {
  const struct bench_options* const o = &b->options;
  nezha_counters_open();
  settle(b);
  for (int i = 0; i < o->size_count; i++) {
    double unused = 0;
    call_allreduce(b, o->sizes[i], o->warmup > 0 ? o->warmup : 0, &unused);
    for (long round = 0; round < b->rounds; round++) {
      if (b->raw != NULL) measure_raw(b, o->sizes[i]);
      measure_allreduce(b, o->sizes[i]);
    }
  }
  nezha_counters_close();
}

int main(int argc, char** argv) {
  const char *device = NULL, *rounds = "3", *message = NULL;
  const struct bench_extra extra[] = {{"device", "NAME            of an RDMA device, or its end", &device},
                                      {"rounds", "N               measurements of each size (3)", &rounds},
                                      {"message", "BYTES          of the plain program's sends (64K)", &message},
                                      {NULL, NULL, NULL}};
  struct bench bench = {0};
  size_t message_bytes = kDefaultMessage;
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const enum bench_parsed parsed = bench_parse(argc, argv, extra, bench.rank == 0, &bench.options);
  const size_t largest = bench_largest(&bench.options);
  int status = parsed == BENCH_HELP ? EXIT_SUCCESS : EXIT_FAILURE;
  if (parsed == BENCH_RUN && (ranks != 2 || (message != NULL && !bench_parse_size(message, &message_bytes)))) {
    if (bench.rank == 0) fprintf(stderr, "%s: it takes two ranks, and --message a size such as 64K\n", argv[0]);
  } else if (parsed == BENCH_RUN) {
    if (bench.options.iterations == 0) bench.options.iterations = 10;
    bench.rounds = strtol(rounds, NULL, 10);
    bench.in = malloc(largest);
    bench.out = malloc(largest);
    if (bench.in == NULL || bench.out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    if (device != NULL) bench.raw = raw_open(device, largest > kSmall ? largest : kSmall, message_bytes);
    run(&bench);
    if (bench.raw != NULL) raw_close(bench.raw);
    free(bench.in);
    free(bench.out);
    status = EXIT_SUCCESS;
  }
  MPI_Finalize();
  return status;
}
