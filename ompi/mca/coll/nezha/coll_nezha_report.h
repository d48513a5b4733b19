/* SPDX-License-Identifier: BSD-3-Clause */
/** The tables that rank 0 of the job prints before MPI goes down. */
#ifndef MCA_COLL_NEZHA_REPORT_H
#define MCA_COLL_NEZHA_REPORT_H

#include "coll_nezha.h"

/** Gathers and prints; collective over MPI_COMM_WORLD. */
void coll_nezha_report_print(void);

#endif
