/* SPDX-License-Identifier: BSD-3-Clause */
/** Memory that the process gives back, as Open MPI hears of it: by munmap(2), free(3), mremap(2), madvise(2) and others. */
#ifndef NEZHA_OPAL_MEMORY_H
#define NEZHA_OPAL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/** Called from inside such a call, in any thread, before anybody can get that memory anew: may neither allocate nor free memory, nor
 *  wait. */
typedef void (*nezha_memory_gone_t)(const void *from, size_t size);

/** False: Open MPI does not hear of all. At most one at a time; by the threads that open and close the component. */
bool nezha_memory_watch(nezha_memory_gone_t gone);
/** Nothing more is called from here on, but for what is under way in other threads. */
void nezha_memory_unwatch(void);

#endif
