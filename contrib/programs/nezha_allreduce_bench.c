/* SPDX-License-Identifier: BSD-3-Clause */
/// MPI_Allreduce over MPI_COMM_WORLD, or another collective, in osu_allreduce's format, every result checked. Plain MPI:
/// what carries the calls is whatever the MPI library was told to use.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_collectives.h"
#include "bench_options.h"
#include "bench_print.h"
#include "bench_run.h"
#include "nezha_counters.h"

/// Nezha's lanes come up in the background while calls run on Open MPI's own allreduce; waited for this long.
static const double kSettleSeconds = 3.0;
enum { kSettleBytes = 1 << 20 };

static void barrier(void* context) {
  (void)context;
  MPI_Barrier(MPI_COMM_WORLD);
}

static struct bench_reduction reduction_of(const struct bench_options* o) {
  const MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T, MPI_INT64_T};
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  return (struct bench_reduction){types[o->type], ops[o->op]};
}

/// The least of the ranks' counts between two readings, where `calls` are those that Nezha carried in either way;
/// complete on rank 0. Calls that leave the node and go through its memory count once.
static struct nezha_counts carried_between(struct nezha_counts before, struct nezha_counts now) {
  const unsigned long memory_calls = now.memory_calls - before.memory_calls;
  unsigned long own[4] = {now.calls - before.calls, now.bytes - before.bytes, now.aggregated - before.aggregated, memory_calls};
  unsigned long least[4] = {0, 0, 0, 0};
  if (memory_calls > own[0]) own[0] = memory_calls;
  MPI_Reduce(own, least, 4, MPI_UNSIGNED_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  return (struct nezha_counts){least[0], least[1], least[2], least[3]};
}

/// What the counters said when the measured calls of a size began and ended.
struct readings {
  struct nezha_counts begin, end;
};

static void read_begin(void* context) { ((struct readings*)context)->begin = nezha_counters_read(); }

static void read_end(void* context) { ((struct readings*)context)->end = nezha_counters_read(); }

/// A size for calls that are not measured, of no size class that is: those are to begin with what is measured.
static size_t unmeasured(const struct bench_options* o) {
  const size_t largest = bench_largest(o), most = largest < kSettleBytes ? largest : kSettleBytes;
  for (size_t bytes = kSettleBytes; bytes >= sizeof(double); bytes /= 2) {
    bool free = bytes <= most;
    for (int i = 0; i < o->size_count; i++) free = free && (o->sizes[i] < bytes || o->sizes[i] >= 2 * bytes);
    if (free) return bytes;
  }
  return most;
}

/// Calls until Nezha carries some, or for a while. Returns the seconds that took.
static double settle(const struct bench_options* o, struct bench_reduction* reduction, struct bench_buffers* buffers) {
  const struct bench_collective* const collective = bench_collective_of("allreduce");
  const struct bench_driver allreduce = {reduction, o->in_place, barrier, collective->call, NULL, NULL};
  const size_t bytes = unmeasured(o);
  const double start = MPI_Wtime();
  for (int done = 0; !done;) {
    const struct nezha_counts before = nezha_counters_read();
    bench_warm(o, &allreduce, buffers, bytes, 5);
    const struct nezha_counts carried = carried_between(before, nezha_counters_read());
    done = carried.calls > 0 || MPI_Wtime() - start > kSettleSeconds;
    MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - start;
}

/// What went through aggregators counts with the warm-up, as the processor time of the services does beside it.
static void measure_all(const struct bench_options* o, const struct bench_driver* driver,
                        const struct readings* measured, struct bench_buffers* buffers, bool nezha, int rank) {
  char detail[128];
  for (int i = 0; i < o->size_count; i++) {
    struct bench_result result;
    const struct nezha_counts before = nezha_counters_read();
    bench_measure(o, driver, buffers, o->sizes[i], &result);
    const struct nezha_counts all = carried_between(before, nezha_counters_read());
    const struct nezha_counts carried = carried_between(measured->begin, measured->end);
    snprintf(detail, sizeof detail, "\"nezha_calls\":%lu,\"nezha_bytes\":%lu,\"nezha_aggregated\":%lu", carried.calls,
             carried.bytes, all.aggregated);
    if (rank == 0) bench_print_result(o, &result, nezha ? detail : NULL);
    free(result.each);
  }
}

/// Complete on rank 0.
static int nodes(void) {
  MPI_Comm node;
  int rank, first, count = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  first = rank == 0;
  MPI_Reduce(&first, &count, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  return count;
}

/// Says on rank 0 which ranks do not have what `has` says, and on which nodes; collective.
static void name_those_without(bool has, int rank, int ranks) {
  enum { kNamed = 4 };
  char node[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0, without = 0;
  if (!has) MPI_Get_processor_name(node, &length);
  char* const nodes = rank == 0 ? malloc((size_t)ranks * sizeof node) : NULL;
  if (rank == 0 && nodes == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Gather(node, sizeof node, MPI_CHAR, nodes, sizeof node, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  fprintf(stderr, "Nezha is used by some of the %d ranks only, so there is nothing to measure. Not by", ranks);
  for (int i = 0; i < ranks; i++) {
    const char* const name = nodes + (size_t)i * sizeof node;
    if (*name != '\0' && without++ < kNamed) fprintf(stderr, "%s rank %d on %s", without > 1 ? "," : "", i, name);
  }
  if (without > kNamed) fprintf(stderr, " and %d more", without - kNamed);
  fprintf(stderr, ": the component must be on every node, and coll_nezha_enable and coll alike on all ranks.\n");
  free(nodes);
}

/// Whether this process has Nezha; `*all_alike`: all have it, or none has. No allreduce is called: sizes that are not measured
/// are left alone, see unmeasured().
static bool has_nezha(int rank, int ranks, bool* all_alike) {
  const bool has = nezha_counters_open();
  int own = has, with = 0;
  MPI_Reduce(&own, &with, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&with, 1, MPI_INT, 0, MPI_COMM_WORLD);
  *all_alike = with == 0 || with == ranks;
  if (!*all_alike) name_those_without(has, rank, ranks);
  return has;
}

static int run(const struct bench_options* o, const struct bench_collective* collective, int rank, int ranks) {
  struct bench_buffers buffers;
  bool all_alike;
  const bool nezha = has_nezha(rank, ranks, &all_alike);
  if (!all_alike) {
    nezha_counters_close();
    return EXIT_FAILURE;
  }
  struct bench_reduction reduction = reduction_of(o);
  struct readings measured;
  const struct bench_watch watch = {&measured, read_begin, read_end};
  const struct bench_driver driver = {&reduction, o->in_place, barrier, collective->call, collective->shape, &watch};
  if (!bench_allocate(o, &buffers)) {
    fprintf(stderr, "not enough memory for four vectors of %zu bytes\n", bench_largest(o));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double settled = nezha ? settle(o, &reduction, &buffers) : 0;

  char library[MPI_MAX_LIBRARY_VERSION_STRING], detail[160], title[64];
  int length;
  MPI_Get_library_version(library, &length);
  snprintf(detail, sizeof detail, "\"nezha\":%s,\"nezha_threshold\":%ld,\"settle_s\":%.3f,\"nodes\":%d,\"collective\":\"%s\"",
           nezha ? "true" : "false", nezha_parameter("threshold", -1), settled, nodes(), collective->name);
  snprintf(title, sizeof title, "Nezha MPI %s Latency Test", collective->title);
  if (rank == 0) bench_print_header(o, title, library, ranks, detail);
  measure_all(o, &driver, &measured, &buffers, nezha, rank);
  nezha_counters_close();
  bench_release(&buffers);
  return EXIT_SUCCESS;
}

/// Null, with words on standard error, where that cannot be measured.
static const struct bench_collective* measurable(const char* program, const char* name, const struct bench_options* o, bool speak) {
  const struct bench_collective* const found = bench_collective_of(name);
  if (found == NULL && speak)
    fprintf(stderr, "%s: --collective %s: %s are allowed\n", program, name, BENCH_COLLECTIVES);
  if (found == NULL || found->in_place || !o->in_place) return found;
  if (speak) fprintf(stderr, "%s: --in-place is for allreduces, not for --collective %s\n", program, name);
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = "allreduce";
  const struct bench_extra extra[] = {{"collective", "NAME        " BENCH_COLLECTIVES " (allreduce)", &name},
                                      {NULL, NULL, NULL}};
  struct bench_options options;
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  int status = EXIT_FAILURE;
  const enum bench_parsed parsed = bench_parse(argc, argv, extra, rank == 0, &options);
  const struct bench_collective* const collective =
      parsed == BENCH_RUN ? measurable(argv[0], name, &options, rank == 0) : NULL;
  if (parsed == BENCH_HELP)
    status = EXIT_SUCCESS;
  else if (collective != NULL && ranks > BENCH_MAX_RANKS && rank == 0)
    fprintf(stderr, "%s: sums are exact for up to %d ranks only\n", argv[0], BENCH_MAX_RANKS);
  else if (collective != NULL && ranks <= BENCH_MAX_RANKS)
    status = run(&options, collective, rank, ranks);
  MPI_Finalize();
  return status;
}
