/* SPDX-License-Identifier: BSD-3-Clause */
/** What is done when MPI_Finalize begins, while everything still works: the report, and the file of what was learned. */
#ifndef MCA_COLL_NEZHA_FINALIZE_H
#define MCA_COLL_NEZHA_FINALIZE_H

#include "coll_nezha.h"

/** Arranges for it. To be called for MPI_COMM_WORLD, inside MPI_Init. */
void coll_nezha_finalize_prepare(struct ompi_communicator_t *world);

/** Instead, when MPI_COMM_WORLD is left to Open MPI because of `reason`, a string that stays: the report says so. */
void coll_nezha_finalize_left(const char *reason);

/** MPI_COMM_WORLD goes: ends what goes by Open MPI's own messages, as long as it can. (Where it was left to Open MPI they are left open.) */
void coll_nezha_finalize_world_gone(void);

#endif
