/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_gather.h"

#include <stdlib.h>
#include <string.h>

#include "mpi.h"

#include "coll_nezha_engine.h"

#include "opal/compat.h"

static void fill(coll_nezha_rail_row_t *row, const nezha_rail_stats_t *stats)
{
    row->value[COLL_NEZHA_SENT] = stats->bytes_sent;
    row->value[COLL_NEZHA_RECEIVED] = stats->bytes_received;
    row->value[COLL_NEZHA_FRAMES_SENT] = stats->frames_sent;
    row->value[COLL_NEZHA_FRAMES_RECEIVED] = stats->frames_received;
    row->value[COLL_NEZHA_AGAIN] = stats->retransmissions;
    row->value[COLL_NEZHA_BUSY] = stats->busy_ns;
    row->value[COLL_NEZHA_SHARE] = stats->share;
    row->value[COLL_NEZHA_SUSPICIONS] = stats->suspicions;
    row->value[COLL_NEZHA_FAILOVERS] = stats->failovers;
    row->value[COLL_NEZHA_RECONNECTIONS] = stats->reconnections;
}

/** This process's numbers of the rail called `name`; false when it has none of that name. */
static bool find_rail(const char *name, coll_nezha_rail_row_t *row)
{
    nezha_engine_t *engine = coll_nezha_engine();
    size_t count = NULL != engine ? nezha_engine_rails(engine) : 0;
    for (size_t i = 0; i < count; i++) {
        nezha_rail_stats_t stats;
        if (0 == nezha_engine_rail_stats(engine, i, &stats) && 0 == strcmp(stats.name, name)) {
            fill(row, &stats);
            return true;
        }
    }
    return false;
}

static void own_names(coll_nezha_gathered_t *all)
{
    for (size_t i = 0; i < all->rails; i++) {
        nezha_rail_stats_t stats;
        if (0 == nezha_engine_rail_stats(coll_nezha_engine(), i, &stats)) {
            memcpy(all->names[i], stats.name, sizeof all->names[i]);
        }
    }
}

/** Least and most over the ranks; a rank without the rail must not count as one that carried nothing over it. */
static void reduce(coll_nezha_gathered_t *all, int rank)
{
    for (size_t i = 0; i < all->rails; i++) {
        if (!find_rail(all->names[i], &all->own[i])) {
            memset(&all->own[i], 0, sizeof all->own[i]);
            memset(&all->least[i], 0xff, sizeof all->least[i]);
        } else {
            all->least[i] = all->own[i];
        }
        all->most[i] = all->own[i];
    }
    int values = (int)(all->rails * COLL_NEZHA_RAIL_VALUES);
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)all->least, all->least, values, MPI_UINT64_T, MPI_MIN, 0,
                MPI_COMM_WORLD);
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)all->most, all->most, values, MPI_UINT64_T, MPI_MAX, 0,
                MPI_COMM_WORLD);
}

static void own_memory(coll_nezha_gathered_t *all)
{
    nezha_memory_stats_t stats = {0};
    if (NULL != coll_nezha_engine()) {
        nezha_engine_memory_stats(coll_nezha_engine(), &stats);
    }
    all->memory_own = (coll_nezha_memory_row_t){{stats.calls, stats.bytes, stats.time_ns, stats.copied_in_ns, stats.reduced_ns,
                                                 stats.gathered_ns, stats.between_ns, stats.shared_ns}};
    all->memory_least = all->memory_most = all->memory_own;
}

static void reduce_memory(coll_nezha_gathered_t *all, int rank)
{
    own_memory(all);
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)&all->memory_least, &all->memory_least, COLL_NEZHA_MEMORY_VALUES,
                MPI_UINT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)&all->memory_most, &all->memory_most, COLL_NEZHA_MEMORY_VALUES,
                MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
}

typedef struct ranks_time {
    uint64_t time;
    int rank;
} ranks_time_t;

static int by_time(const void *one, const void *other)
{
    const ranks_time_t *a = (const ranks_time_t *)one, *b = (const ranks_time_t *)other;
    return a->time != b->time ? (a->time < b->time ? -1 : 1) : (a->rank > b->rank) - (a->rank < b->rank);
}

static void compare(coll_nezha_class_times_t *times, ranks_time_t *sorted, const uint64_t *every, int size)
{
    int ranks = 0;
    for (int i = 0; i < size; i++) {
        if (0 != every[i]) {
            sorted[ranks++] = (ranks_time_t){every[i], i};
        }
    }
    times->ranks = ranks;
    if (0 == ranks) {
        return;
    }
    qsort(sorted, (size_t)ranks, sizeof *sorted, by_time);
    times->least = sorted[0].time;
    times->least_rank = sorted[0].rank;
    uint64_t low = sorted[(ranks - 1) / 2].time, high = sorted[ranks / 2].time;
    times->median = low + (high - low) / 2;
    times->most = sorted[ranks - 1].time;
    times->most_rank = sorted[ranks - 1].rank;
}

/** Only where rank 0 has the memory for it, of which it tells the others. */
static void gather_times(coll_nezha_gathered_t *all, int rank)
{
    nezha_class_stats_t stats[NEZHA_SIZE_CLASSES] = {{0, 0, 0, 0}};
    int size = 0, possible = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (NULL != coll_nezha_engine()) {
        nezha_engine_class_stats(coll_nezha_engine(), stats);
    }
    uint64_t *every = 0 == rank ? malloc((size_t)size * sizeof *every) : NULL;
    ranks_time_t *sorted = 0 == rank ? malloc((size_t)size * sizeof *sorted) : NULL;
    if (0 == rank) {
        possible = NULL != every && NULL != sorted;
    }
    PMPI_Bcast(&possible, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; possible && i < NEZHA_SIZE_CLASSES; i++) {
        PMPI_Gather(&stats[i].time_ns, 1, MPI_UINT64_T, every, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        if (0 == rank) {
            compare(&all->times[i], sorted, every, size);
        }
    }
    free(sorted);
    free(every);
}

static void gather_alone(coll_nezha_gathered_t *all)
{
    own_names(all);
    for (size_t i = 0; i < all->rails; i++) {
        find_rail(all->names[i], &all->own[i]);
    }
    own_memory(all);
}

static void gather_from_all(coll_nezha_gathered_t *all, int rank)
{
    unsigned long long rails = all->rails;
    PMPI_Bcast(&rails, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    all->rails = (size_t)rails;
    if (0 == rank) {
        own_names(all);
    }
    PMPI_Bcast(all->names, (int)(all->rails * sizeof *all->names), MPI_CHAR, 0, MPI_COMM_WORLD);
    reduce(all, rank);
    reduce_memory(all, rank);
    gather_times(all, rank);
}

bool coll_nezha_gather(coll_nezha_gathered_t *all)
{
    int rank = 0;
    memset(all->times, 0, sizeof all->times);
    const size_t rails = NULL != coll_nezha_engine() ? nezha_engine_rails(coll_nezha_engine()) : 0;
    all->rails = rails < COLL_NEZHA_REPORTED_RAILS ? rails : COLL_NEZHA_REPORTED_RAILS;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    all->alone = nezha_compat_tolerates_faults();
    if (all->alone) {
        gather_alone(all);
    } else {
        gather_from_all(all, rank);
    }
    return 0 == rank;
}
