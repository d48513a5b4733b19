/* SPDX-License-Identifier: BSD-3-Clause */
/// The collectives that nezha_allreduce_bench measures: how each is called over MPI_COMM_WORLD, and what a rank gives to
/// it and has to get. The root is rank 0. Of a size is the whole vector: what a reduce_scatter takes from each rank, what
/// an allgather gives to each, and what a root has. A barrier has none.
#ifndef NEZHA_BENCH_COLLECTIVES_H
#define NEZHA_BENCH_COLLECTIVES_H

#include <mpi.h>

#include "bench_run.h"

struct bench_reduction {
  MPI_Datatype type;
  MPI_Op op;
};

struct bench_collective {
  const char* name;   ///< as --collective has it
  const char* title;  ///< as OSU's programs have it
  bool in_place;      ///< MPI_IN_PLACE is measured too
  const struct bench_shape* shape;  ///< null: an allreduce's
  /// bench_driver's reduce(), with a bench_reduction as its context.
  void (*call)(void* reduction, int slot, const void* in, void* out, size_t count);
};

/// Null: there is none of that name.
const struct bench_collective* bench_collective_of(const char* name);

/// For a help text.
#define BENCH_COLLECTIVES "allreduce, iallreduce, reduce_scatter, allgather, bcast, reduce, barrier"

#endif
