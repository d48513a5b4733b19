/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Reductions by Open MPI's own functions, for what the engine has no kernel for or computes differently.
 *
 * Open MPI's vector kernels may treat what fills whole vectors of the processor otherwise than the last few elements
 * (sums of short integers saturate or wrap, a NaN counts or does not). An element is therefore always reduced as by one
 * MPI_Reduce_local of the call's whole vector, wherever the engine cuts it: its bits depend on its place alone.
 */
#ifndef MCA_COLL_NEZHA_REDUCE_H
#define MCA_COLL_NEZHA_REDUCE_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"

#include "nezha/nezha.h"

/** A call's reduction. `call_ctx` of its nezha_call_t points to it, and so to the coll_nezha_call_t that it is the first of. */
typedef struct coll_nezha_reduction {
    struct ompi_datatype_t *type;
    struct ompi_op_t *op;
    struct ompi_communicator_t *comm;
    size_t count; /* elements of the call's vector */
} coll_nezha_reduction_t;

/** nezha_host_t's `reduce`. */
void coll_nezha_reduce(void *ctx, void *call_ctx, const void *in, void *inout, size_t first, size_t count);

/** Whether the engine's kernel for `type` and `op` gives the bits that Open MPI gives for the reduction, tried on
 * extreme values in whole vectors and in what is less than one. Says how this process computes, which must decide
 * nothing that ranks do together. */
bool coll_nezha_reduce_agrees(const coll_nezha_reduction_t *reduction, nezha_type_t type, nezha_op_t op);

#endif
