/* SPDX-License-Identifier: BSD-3-Clause */
/** MPI's types and operations in the engine's words. */
#ifndef MCA_COLL_NEZHA_TYPES_H
#define MCA_COLL_NEZHA_TYPES_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"
#include "ompi/datatype/ompi_datatype.h"

#include "nezha/nezha.h"

#include "coll_nezha_reduce.h"

/** Fills the tables. Once, before the others, after Open MPI's types are there. */
void coll_nezha_types_init(void);

/**
 * Whether rails carry calls with `op`, a predefined operation that MPI defines for allreduce: its kind is what all
 * ranks see alike. An operation of the program's own is not one: the engine would run it under its lock and on another
 * call's thread. It also takes types of any layout, and another one on each rank as long as the signatures are equal.
 */
bool coll_nezha_types_carries(MPI_Op op);

/**
 * Puts the reduction of a call that rails carry into the engine's words: `call`'s type, op and element. Reads no data.
 * A type becomes NEZHA_TYPE_OTHER, to be reduced by Open MPI, where the engine has no kernel that gives the same bits.
 * False where `type` is not predefined, which is an error of the program's for Open MPI to tell.
 */
bool coll_nezha_types_translate(const coll_nezha_reduction_t *reduction, nezha_call_t *call);

#endif
