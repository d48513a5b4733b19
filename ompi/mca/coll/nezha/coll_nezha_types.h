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
 * Puts a call's reduction into the engine's words: `call`'s type, op and element. False when the engine must not see the
 * call: the elements do not lie side by side, or the operation's operands must not be reordered. Reads no data. A type
 * becomes NEZHA_TYPE_OTHER, to be reduced by Open MPI, where the engine has no kernel that gives the same bits.
 */
bool coll_nezha_types_translate(const coll_nezha_reduction_t *reduction, nezha_allreduce_t *call);

#endif
