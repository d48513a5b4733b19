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

/** Fills the tables. Once, before the others, after Open MPI's types are there. */
void coll_nezha_types_init(void);

/**
 * Translates `type` and `op` for `count` elements. False when the engine must not see the call: the elements do not lie
 * side by side, or the operation's operands must not be reordered. Reads no data.
 */
bool coll_nezha_types_translate(const ompi_datatype_t *type, MPI_Op op, size_t count, nezha_allreduce_t *call);

#endif
