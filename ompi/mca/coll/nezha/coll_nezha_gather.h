/* SPDX-License-Identifier: BSD-3-Clause */
/** The numbers of rails and of shared memory of all ranks of MPI_COMM_WORLD, at rank 0. */
#ifndef MCA_COLL_NEZHA_GATHER_H
#define MCA_COLL_NEZHA_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nezha/nezha.h"

enum {
    COLL_NEZHA_SENT,
    COLL_NEZHA_RECEIVED,
    COLL_NEZHA_FRAMES_SENT,
    COLL_NEZHA_FRAMES_RECEIVED,
    COLL_NEZHA_AGAIN,
    COLL_NEZHA_BUSY,
    COLL_NEZHA_SHARE,
    COLL_NEZHA_SUSPICIONS,
    COLL_NEZHA_FAILOVERS,
    COLL_NEZHA_RECONNECTIONS,
    COLL_NEZHA_RAIL_VALUES
};

/** What nezha_memory_stats_t has, in its order. */
enum {
    COLL_NEZHA_MEMORY_CALLS,
    COLL_NEZHA_MEMORY_BYTES,
    COLL_NEZHA_MEMORY_TIME,
    COLL_NEZHA_MEMORY_COPIED_IN,
    COLL_NEZHA_MEMORY_REDUCED,
    COLL_NEZHA_MEMORY_GATHERED,
    COLL_NEZHA_MEMORY_BETWEEN,
    COLL_NEZHA_MEMORY_SHARED,
    COLL_NEZHA_MEMORY_VALUES
};

/** More rails than this are left out of the report. */
enum { COLL_NEZHA_REPORTED_RAILS = 32 };

typedef struct coll_nezha_rail_row {
    uint64_t value[COLL_NEZHA_RAIL_VALUES];
} coll_nezha_rail_row_t;

typedef struct coll_nezha_memory_row {
    uint64_t value[COLL_NEZHA_MEMORY_VALUES];
} coll_nezha_memory_row_t;

/** The time that ranks spent in a size class's calls, in ns, of the ranks that made such calls; `ranks` 0: none did. The rank with the
 *  least time is the last to begin its calls as a rule: the others wait for it. */
typedef struct coll_nezha_class_times {
    uint64_t least, median, most;
    int least_rank, most_rank, ranks;
} coll_nezha_class_times_t;

/** Rails are those of rank 0; a rank counts for a rail that it has by the same name. */
typedef struct coll_nezha_gathered {
    size_t rails;
    char names[COLL_NEZHA_REPORTED_RAILS][48];
    coll_nezha_rail_row_t own[COLL_NEZHA_REPORTED_RAILS], least[COLL_NEZHA_REPORTED_RAILS],
        most[COLL_NEZHA_REPORTED_RAILS];
    coll_nezha_memory_row_t memory_own, memory_least, memory_most; /* of what ranks of a node did in the memory that they share */
    coll_nezha_class_times_t times[NEZHA_SIZE_CLASSES];
    bool alone; /* the other ranks were not asked: there is no least, no most, and nothing in `times` */
} coll_nezha_gathered_t;

/** Collective over MPI_COMM_WORLD, by operations that this component does not carry. `all` is complete on rank 0, which
 *  gets true. In a job that goes on after failures nobody is asked: a call of MPI_COMM_WORLD may end the program. */
bool coll_nezha_gather(coll_nezha_gathered_t *all);

#endif
