/* SPDX-License-Identifier: BSD-3-Clause */
/** The tables that rank 0 of the job prints before MPI goes down. */
#ifndef MCA_COLL_NEZHA_REPORT_H
#define MCA_COLL_NEZHA_REPORT_H

#include "coll_nezha.h"

/** Gathers and prints; collective over MPI_COMM_WORLD. */
void coll_nezha_report_print(void);

/** A reason for coll_nezha_finalize_left(). */
extern const char coll_nezha_outranked[];

/** Prints, of this rank alone, that rails carried no call because of `reason`, or which ones they did carry nevertheless. */
void coll_nezha_report_left(const char *reason);

#endif
