/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_gather.h"

#include <string.h>

#include "mpi.h"

#include "coll_nezha_engine.h"

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

static void reduce_memory(coll_nezha_gathered_t *all, int rank)
{
    nezha_memory_stats_t stats = {0};
    if (NULL != coll_nezha_engine()) {
        nezha_engine_memory_stats(coll_nezha_engine(), &stats);
    }
    all->memory_own = (coll_nezha_memory_row_t){{stats.calls, stats.bytes, stats.time_ns, stats.copied_in_ns, stats.reduced_ns,
                                                 stats.gathered_ns, stats.between_ns, stats.shared_ns}};
    all->memory_least = all->memory_most = all->memory_own;
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)&all->memory_least, &all->memory_least, COLL_NEZHA_MEMORY_VALUES,
                MPI_UINT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    PMPI_Reduce(0 == rank ? MPI_IN_PLACE : (void *)&all->memory_most, &all->memory_most, COLL_NEZHA_MEMORY_VALUES,
                MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
}

bool coll_nezha_gather(coll_nezha_gathered_t *all)
{
    int rank = 0;
    unsigned long long rails = NULL != coll_nezha_engine() ? nezha_engine_rails(coll_nezha_engine()) : 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Bcast(&rails, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    all->rails = rails < COLL_NEZHA_REPORTED_RAILS ? (size_t)rails : COLL_NEZHA_REPORTED_RAILS;
    if (0 == rank) {
        own_names(all);
    }
    PMPI_Bcast(all->names, (int)(all->rails * sizeof *all->names), MPI_CHAR, 0, MPI_COMM_WORLD);
    reduce(all, rank);
    reduce_memory(all, rank);
    return 0 == rank;
}
