/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_collectives.h"

#include <string.h>

enum { kRoot = 0 };

static void must(int status) {
  if (status != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

static const void* send_of(const void* in, const void* out) { return in == out ? MPI_IN_PLACE : in; }

// ---- calls

static void allreduce(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  (void)slot;
  must(MPI_Allreduce(send_of(in, out), out, (int)count, r->type, r->op, MPI_COMM_WORLD));
}

static void iallreduce(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  MPI_Request request;
  (void)slot;
  must(MPI_Iallreduce(send_of(in, out), out, (int)count, r->type, r->op, MPI_COMM_WORLD, &request));
  must(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void reduce_scatter(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  (void)slot;
  must(MPI_Reduce_scatter_block(in, out, (int)count / bench_ranks(), r->type, r->op, MPI_COMM_WORLD));
}

static void allgather(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  const int block = (int)count / bench_ranks();
  (void)slot;
  must(MPI_Allgather(in, block, r->type, out, block, r->type, MPI_COMM_WORLD));
}

static void bcast(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  (void)slot, (void)in;
  must(MPI_Bcast(out, (int)count, r->type, kRoot, MPI_COMM_WORLD));
}

static void reduce(void* context, int slot, const void* in, void* out, size_t count) {
  const struct bench_reduction* r = context;
  (void)slot;
  must(MPI_Reduce(in, out, (int)count, r->type, r->op, kRoot, MPI_COMM_WORLD));
}

static void barrier(void* context, int slot, const void* in, void* out, size_t count) {
  (void)context, (void)slot, (void)in, (void)out, (void)count;
  must(MPI_Barrier(MPI_COMM_WORLD));
}

// ---- data: a block of a vector is a vector of a call of its own

static uint64_t call_of_block(uint64_t call, int block) { return call * (uint64_t)bench_ranks() + (uint64_t)block; }

static size_t block_length(size_t count) { return count / (size_t)bench_ranks(); }

static void* block_at(void* vector, size_t count, enum bench_type type, int block) {
  return (char*)vector + (size_t)block * block_length(count) * bench_type_bytes(type);
}

static void fill_blocks(const struct bench_options* o, void* in, void* out, size_t count, uint64_t call) {
  (void)out;
  for (int block = 0; block < bench_ranks(); block++)
    bench_fill_own(o, block_at(in, count, o->type, block), NULL, block_length(count), call_of_block(call, block));
}

static bool own_block_is_reduced(const struct bench_options* o, const void* out, size_t count, uint64_t call,
                                 struct bench_fault* fault) {
  return bench_check_reduced(o, out, block_length(count), call_of_block(call, bench_rank()), fault);
}

static bool blocks_are_as_they_were(const struct bench_options* o, const void* in, size_t count, uint64_t call,
                                    struct bench_fault* fault) {
  for (int block = 0; block < bench_ranks(); block++) {
    const void* own = block_at((void*)in, count, o->type, block);
    if (!bench_check_own(o, own, block_length(count), call_of_block(call, block), fault)) return false;
  }
  return true;
}

static void fill_one_block(const struct bench_options* o, void* in, void* out, size_t count, uint64_t call) {
  bench_fill_own(o, in, out, block_length(count), call);
}

static bool block_is_as_it_was(const struct bench_options* o, const void* in, size_t count, uint64_t call,
                               struct bench_fault* fault) {
  return bench_check_own(o, in, block_length(count), call, fault);
}

static bool all_blocks_are_here(const struct bench_options* o, const void* out, size_t count, uint64_t call,
                                struct bench_fault* fault) {
  const size_t elements = block_length(count);
  for (int block = 0; block < bench_ranks(); block++) {
    if (bench_check_input(block_at((void*)out, count, o->type, block), elements, o->type, call, block, fault)) continue;
    fault->element += (size_t)block * elements;
    return false;
  }
  return true;
}

static void fill_root(const struct bench_options* o, void* in, void* out, size_t count, uint64_t call) {
  if (bench_rank() == kRoot) bench_fill_own(o, out, in, count, call);
}

static bool root_was_copied(const struct bench_options* o, const void* out, size_t count, uint64_t call,
                            struct bench_fault* fault) {
  return bench_check_input(out, count, o->type, call, kRoot, fault);
}

static bool root_has_reduced(const struct bench_options* o, const void* out, size_t count, uint64_t call,
                             struct bench_fault* fault) {
  return bench_rank() != kRoot || bench_check_reduced(o, out, count, call, fault);
}

static void fill_nothing(const struct bench_options* o, void* in, void* out, size_t count, uint64_t call) {
  (void)o, (void)in, (void)out, (void)count, (void)call;
}

static bool nothing_to_see(const struct bench_options* o, const void* vector, size_t count, uint64_t call,
                           struct bench_fault* fault) {
  (void)o, (void)vector, (void)count, (void)call, (void)fault;
  return true;
}

static const struct bench_shape kScatters = {true, fill_blocks, own_block_is_reduced, blocks_are_as_they_were};
static const struct bench_shape kGathers = {true, fill_one_block, all_blocks_are_here, block_is_as_it_was};
static const struct bench_shape kSpreads = {false, fill_root, root_was_copied, nothing_to_see};
static const struct bench_shape kReduces = {false, bench_fill_own, root_has_reduced, bench_check_own};
static const struct bench_shape kMeets = {false, fill_nothing, nothing_to_see, nothing_to_see};

static const struct bench_collective kAll[] = {
    {"allreduce", "Allreduce", true, NULL, allreduce},
    {"iallreduce", "Non-blocking Allreduce", true, NULL, iallreduce},
    {"reduce_scatter", "Reduce_scatter_block", false, &kScatters, reduce_scatter},
    {"allgather", "Allgather", false, &kGathers, allgather},
    {"bcast", "Broadcast", false, &kSpreads, bcast},
    {"reduce", "Reduce", false, &kReduces, reduce},
    {"barrier", "Barrier", false, &kMeets, barrier},
};

const struct bench_collective* bench_collective_of(const char* name) {
  for (size_t i = 0; i < sizeof kAll / sizeof *kAll; i++)
    if (strcmp(name, kAll[i].name) == 0) return &kAll[i];
  return NULL;
}
