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
    nezha_call_t words;
    coll_nezha_reduction_t reduction;
    void *host;   /* NULL: the vectors are used as they are */
    void *result; /* where the result goes from `host` */
    /* Of other collectives than allreduce, see coll_nezha_sibling.h: */
    coll_nezha_part_t source, sink;
    int count;                        /* elements of each rank's block, unless `counts` says so */
    const int *counts, *displacements; /* by rank; NULL: alike */
    size_t *sizes;                    /* what words.counts points to */
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

/** Before the engine gets the call. Other ranks' vectors may lie elsewhere, so that must not decide what carries it:
 * where it cannot be done, the team is given up, on all ranks. Returns a NEZHA code. */
int coll_nezha_call_stage_in(coll_nezha_call_t *call, nezha_team_t *team);

/** After stage_in(), when the call is over with `status`. Returns that, or an error of its own. */
int coll_nezha_call_stage_out(coll_nezha_call_t *call, nezha_team_t *team, int status);

/** All of it, of one that blocks. Returns a NEZHA code. */
int coll_nezha_call_carry(coll_nezha_call_t *call, nezha_team_t *team);

#endif
