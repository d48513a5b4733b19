/* SPDX-License-Identifier: BSD-3-Clause */
/** The tables that rank 0 of the job prints before MPI goes down. */
#ifndef MCA_COLL_NEZHA_REPORT_H
#define MCA_COLL_NEZHA_REPORT_H

#include "coll_nezha.h"

/**
 * Arranges for the report, if rank 0 of `world` was asked for one: what rank 0 published decides, so that all ranks
 * take part in gathering it or none does. To be called for MPI_COMM_WORLD, inside MPI_Init.
 */
void coll_nezha_report_prepare(struct ompi_communicator_t *world);

/** Gathers and prints; collective over MPI_COMM_WORLD. */
void coll_nezha_report_print(void);

#endif
