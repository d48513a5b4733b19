/* SPDX-License-Identifier: BSD-3-Clause */
/** Open MPI's own communication, which must go on while a call of ours waits. */
#ifndef NEZHA_OPAL_PROGRESS_H
#define NEZHA_OPAL_PROGRESS_H

/** One round of Open MPI's progress, by a thread that MPI gave us. Returns the number of events, 0 when unknown. */
int nezha_progress(void);

#endif
