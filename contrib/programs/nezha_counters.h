/* SPDX-License-Identifier: BSD-3-Clause */
/// Nezha's own counters, read by name through MPI_T, so that a program knows whether the rails carried its calls, or the
/// memory that ranks of a node share.
#ifndef NEZHA_COUNTERS_H
#define NEZHA_COUNTERS_H

#include <stdbool.h>

struct nezha_counts {
  unsigned long calls;  ///< that left the node
  unsigned long bytes;  ///< of those
  unsigned long aggregated;    ///< of these bytes, those that went through aggregators
  unsigned long memory_calls;  ///< that went through shared memory, whether or not they left the node
};

/// After MPI_Init. False, and counts of 0 ever after, where the component is not there.
bool nezha_counters_open(void);
/// Before MPI_Finalize.
void nezha_counters_close(void);

/// Totals of this process since its start.
struct nezha_counts nezha_counters_read(void);

/// The integer parameter `coll_nezha_<name>`, or `otherwise`.
long nezha_parameter(const char* name, long otherwise);

#endif
