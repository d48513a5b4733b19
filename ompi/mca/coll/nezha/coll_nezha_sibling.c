/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_sibling.h"

#include <limits.h>

#include "coll_nezha_types.h"

/** Elements of all ranks' blocks. */
static size_t total(const coll_nezha_call_t *call)
{
    size_t sum = 0;
    for (int rank = 0; rank < ompi_comm_size(call->reduction.comm); rank++) {
        sum += (size_t)coll_nezha_call_count_of(call, rank);
    }
    return sum;
}

bool coll_nezha_sibling_allgather(coll_nezha_call_t *call, const void *send, int send_count,
                                  struct ompi_datatype_t *send_type, void *recv, int recv_count, const int *recv_counts,
                                  const int *displacements, struct ompi_datatype_t *recv_type,
                                  struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.words = {.collective = NEZHA_ALLGATHER, .element = 1, .type = NEZHA_TYPE_OTHER},
                                .reduction = {.comm = comm},
                                .source = {.buffer = (void *)send, .count = send_count, .type = send_type},
                                .sink = {.buffer = recv, .type = recv_type},
                                .count = recv_count,
                                .counts = recv_counts,
                                .displacements = displacements};
    call->words.count = total(call) * recv_type->super.size;
    return call->words.count <= INT_MAX; /* beyond, memory with gaps could not be packed */
}

bool coll_nezha_sibling_bcast(coll_nezha_call_t *call, void *buffer, int count, struct ompi_datatype_t *type, int root,
                              struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.words = {.collective = NEZHA_BROADCAST,
                                          .element = 1,
                                          .type = NEZHA_TYPE_OTHER,
                                          .count = (size_t)count * type->super.size,
                                          .root = root},
                                .reduction = {.comm = comm},
                                .sink = {.buffer = buffer, .count = count, .type = type}};
    return call->words.count <= INT_MAX;
}

static bool reduces(coll_nezha_call_t *call, nezha_collective_t collective, const void *send, void *recv)
{
    call->words.collective = collective;
    call->words.send = MPI_IN_PLACE == send ? recv : send;
    call->words.recv = recv;
    call->words.count = call->reduction.count;
    return coll_nezha_types_carries(call->reduction.op) && coll_nezha_types_translate(&call->reduction, &call->words);
}

bool coll_nezha_sibling_reduce(coll_nezha_call_t *call, const void *send, void *recv, int count,
                               struct ompi_datatype_t *type, struct ompi_op_t *op, int root,
                               struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.words = {.root = root},
                                .reduction = {.type = type, .op = op, .comm = comm, .count = (size_t)count}};
    return reduces(call, NEZHA_REDUCE, send, ompi_comm_rank(comm) == root ? recv : NULL);
}

bool coll_nezha_sibling_reduce_scatter(coll_nezha_call_t *call, const void *send, void *recv, int count,
                                       const int *counts, struct ompi_datatype_t *type, struct ompi_op_t *op,
                                       struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.reduction = {.type = type, .op = op, .comm = comm}, .count = count, .counts = counts};
    call->reduction.count = total(call);
    return reduces(call, NEZHA_REDUCE_SCATTER, send, recv);
}

bool coll_nezha_sibling_barrier(coll_nezha_call_t *call, struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.words = {.collective = NEZHA_BARRIER, .count = 1, .element = 1},
                                .reduction = {.comm = comm}};
    return true;
}
