/* SPDX-License-Identifier: BSD-3-Clause */
/** In place of a header of Open MPI 5 that distributions do not install; see threads_pthreads_mutex.h beside it. */
#ifndef NEZHA_ABSENT_THREADS_PTHREADS_THREADS_H
#define NEZHA_ABSENT_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
