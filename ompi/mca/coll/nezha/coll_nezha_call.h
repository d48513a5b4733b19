/* SPDX-License-Identifier: BSD-3-Clause */
/** A call in the engine's words, and the memory that it needs where the engine cannot use its vectors as they are. */
#ifndef MCA_COLL_NEZHA_CALL_H
#define MCA_COLL_NEZHA_CALL_H

#include "ompi_config.h"

#include <stdbool.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"

#include "nezha/nezha.h"

#include "coll_nezha_reduce.h"

/** Memory in MPI's words. */
typedef struct coll_nezha_part {
    void *buffer;
    int count;
    struct ompi_datatype_t *type;
} coll_nezha_part_t;

/** Stays where it is until the call is over: the engine is given its address. */
typedef struct coll_nezha_call {
    coll_nezha_reduction_t reduction; /* first: words.call_ctx points to it */
    nezha_call_t words;
    nezha_team_t *team; /* that carries it */
    void *host;         /* NULL: the vectors are used as they are */
    /* Of a reduction in a device's memory only the buffers; of other collectives see coll_nezha_sibling.h: */
    coll_nezha_part_t source, sink;
    int count;                        /* elements of each rank's block, unless `counts` says so */
    const int *counts, *displacements; /* by rank; NULL: alike */
    size_t *sizes;                    /* what words.counts points to */
    /* Of coll_nezha_revoked.c: */
    bool watched; /* it is in the list */
    struct coll_nezha_call *before, *after;
} coll_nezha_call_t;

/** Elements of that rank's block. */
static inline int coll_nezha_call_count_of(const coll_nezha_call_t *call, int rank)
{
    return NULL != call->counts ? call->counts[rank] : call->count;
}

/** Puts an allreduce into the engine's words; reads no data. False where the engine cannot take it, on all ranks alike.
 */
bool coll_nezha_call_translate(coll_nezha_call_t *call, const void *send, void *recv, int count,
                               struct ompi_datatype_t *type, struct ompi_op_t *op, struct ompi_communicator_t *comm);

/**
 * Whether a call that does not block may be Open MPI's own. MPI_Comm_idup agrees on the new communicator's number by
 * MPI_Iallreduce, or MPI_Ireduce and MPI_Ibcast, of an int on the old one, from within any progress: in another order among
 * the program's calls on each rank. The engine tells calls by their order, the incumbent keeps those that block apart. Told
 * from what all ranks see alike, which the engine's type is not, so the program's own of this kind go to the incumbent too.
 */
static inline bool coll_nezha_call_is_maybe_internal(const coll_nezha_call_t *call)
{
    const nezha_call_t *words = &call->words;
    if (NEZHA_BROADCAST == words->collective) {
        return words->count * words->element == sizeof(int);
    }
    return (NEZHA_ALLREDUCE == words->collective || NEZHA_REDUCE == words->collective) && 1 == words->count &&
           sizeof(int) == words->element && (NEZHA_MAX == words->op || NEZHA_MIN == words->op);
}

/** Before the engine gets the call. Other ranks' vectors may lie elsewhere, so that must not decide what carries it:
 * where they cannot be copied, here or later, the team is given up, on all ranks. Returns a NEZHA code. */
int coll_nezha_call_begin(coll_nezha_call_t *call, nezha_team_t *team);

/** nezha_host_t's `bring` and `deliver`. */
int coll_nezha_call_bring(void *ctx, void *call_ctx, const void **send, void **recv);
int coll_nezha_call_deliver(void *ctx, void *call_ctx);

/** After begin(), when the call is over with `status`, or the incumbent's. */
void coll_nezha_call_end(coll_nezha_call_t *call);

/** All of it, of one that blocks. Returns a NEZHA code. */
int coll_nezha_call_carry(coll_nezha_call_t *call, nezha_team_t *team);

#endif
