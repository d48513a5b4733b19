/* SPDX-License-Identifier: BSD-3-Clause */
/// Measures an allreduce, or another collective, the way osu_allreduce does: each call is timed by each rank, a barrier stands between
/// calls and outside the time, and a rank's average is averaged over the ranks. Unlike OSU, every vector is new
/// data, buffers alternate, and each result and each input is compared in full, outside the time.
#ifndef NEZHA_BENCH_RUN_H
#define NEZHA_BENCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_options.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a rank gives to call number `call` and has to get from it. The checks are as those of bench_data.h.
struct bench_shape {
  bool blocks;  ///< a vector is one block for each rank, all of the same length: counts are rounded up to such
  void (*fill)(const struct bench_options* options, void* in, void* out, size_t count, uint64_t call);
  bool (*check_result)(const struct bench_options* options, const void* out, size_t count, uint64_t call,
                       struct bench_fault* fault);
  bool (*check_input)(const struct bench_options* options, const void* in, size_t count, uint64_t call,
                      struct bench_fault* fault);
};

/// Called on each rank before the first measured call and after the last one: neither the warm-up nor what puts the
/// ranks' times together lies between the two.
struct bench_watch {
  void* context;
  void (*begin)(void* context);
  void (*end)(void* context);
};

/// What is measured. `reduce` is called with the slot (0 or 1) that alternates with the buffers,
/// and reports its own failures by ending the job. In place, `in` equals `out`. The barrier is the driver's own,
/// because MPI's would spin on the processor that a slower rank of a library that sleeps still needs.
struct bench_driver {
  void* context;
  bool in_place;
  void (*barrier)(void* context);
  void (*reduce)(void* context, int slot, const void* in, void* out, size_t count);
  const struct bench_shape* shape;  ///< null: an allreduce's
  const struct bench_watch* watch;  ///< null: none
};

struct bench_buffers {
  void* in[2];
  void* out[2];
  uint64_t call;  ///< number of the next call, the same on all ranks, never used twice
  double ended;   ///< when the latest call did; 0: none has
};

/// Times in microseconds. Complete on rank 0 only.
struct bench_result {
  size_t bytes;
  double average, least, most;           ///< of the ranks' averages
  double median;                         ///< of the calls, each averaged over the ranks
  double pause;                          ///< between two calls, averaged over calls and ranks
  double cpu_per_gib, most_cpu_per_gib;  ///< processor seconds of a process per GiB of vector
  long iterations;
  long warmup;
  long peak_kib;  ///< most resident memory of a process so far
  double* each;   ///< of the measured calls in their order, each averaged over the ranks; rank 0's, to be freed
};

/// Of MPI_COMM_WORLD.
int bench_rank(void);
int bench_ranks(void);

/// An allreduce's, of which other shapes may need parts: each rank gives a vector of its own, which stays as it is, and gets
/// what all ranks' give.
void bench_fill_own(const struct bench_options* options, void* in, void* out, size_t count, uint64_t call);
bool bench_check_own(const struct bench_options* options, const void* in, size_t count, uint64_t call,
                     struct bench_fault* fault);
bool bench_check_reduced(const struct bench_options* options, const void* out, size_t count, uint64_t call,
                         struct bench_fault* fault);

/// False if memory is short. The pages are touched only as sizes grow.
bool bench_allocate(const struct bench_options* options, struct bench_buffers* buffers);
void bench_release(struct bench_buffers* buffers);

/// Collective over MPI_COMM_WORLD. A wrong element ends the job with its rank, call and place.
void bench_measure(const struct bench_options* options, const struct bench_driver* driver,
                   struct bench_buffers* buffers, size_t bytes, struct bench_result* result);

/// `calls` verified calls that are not measured; collective as above. Returns their wall time in seconds, rank 0's
/// on every rank.
double bench_warm(const struct bench_options* options, const struct bench_driver* driver, struct bench_buffers* buffers,
                  size_t bytes, long calls);

#ifdef __cplusplus
}
#endif
#endif
