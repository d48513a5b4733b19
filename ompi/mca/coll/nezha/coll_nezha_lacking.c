/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_lacking.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll_nezha.h"

#include "ompi/proc/proc.h"

#include "coll_nezha_params.h"
#include "coll_nezha_peers.h"
#include "opal/nezha_help.h"
#include "opal/nezha_topology.h"

/* A look takes some 50 us, so these take 50 ms at most. */
enum { LACKING_LOOKED = 1024 };
/* Where a look does not tell, ranks are asked, and no more of them when that has taken so many seconds. */
enum { LACKING_ASKS = 2 };
enum { NODES_NAMED = 4, RANKS_NAMED = 4 };

/** What the text is made of: one entry a rank of the communicator, `count` of them. */
typedef struct seen {
    int count;
    struct {
        const char *node;
        coll_nezha_presence_t presence;
    } rank[LACKING_LOOKED];
} seen_t;

static int looked_at(struct ompi_communicator_t *comm)
{
    int size = ompi_comm_size(comm);
    return size < LACKING_LOOKED ? size : LACKING_LOOKED;
}

/** The lowest rank that uses Nezha tells. Where that cannot be found out, more than one do, and Open MPI shows the first. */
static bool tells(struct ompi_communicator_t *comm)
{
    int end = looked_at(comm) < ompi_comm_rank(comm) ? looked_at(comm) : ompi_comm_rank(comm);
    for (int rank = 0; rank < end; rank++) {
        if (COLL_NEZHA_PRESENT == coll_nezha_peers_look(ompi_comm_peer_lookup(comm, rank))) {
            return false;
        }
    }
    return true;
}

static void look(struct ompi_communicator_t *comm, seen_t *seen)
{
    seen->count = looked_at(comm);
    for (int rank = 0; rank < seen->count; rank++) {
        const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
        seen->rank[rank].presence = coll_nezha_peers_look(proc);
        seen->rank[rank].node = nezha_topology_node_of(&proc->super);
    }
}

static bool same_node(const seen_t *seen, int a, int b)
{
    return 0 == strcmp(seen->rank[a].node, seen->rank[b].node);
}

/** Whether a rank of the node of `rank` is known to have no component. */
static bool absent_beside(const seen_t *seen, int rank)
{
    for (int other = 0; other < seen->count; other++) {
        if (COLL_NEZHA_ABSENT == seen->rank[other].presence && same_node(seen, other, rank)) {
            return true;
        }
    }
    return false;
}

/** Finds out what a look did not tell. A rank beside one without the component is taken to have none either: a node that lacks it
 * lacks it for all its ranks, and each question would wait. */
static void ask(struct ompi_communicator_t *comm, seen_t *seen)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + LACKING_ASKS;
    for (int rank = 0; rank < seen->count; rank++) {
        if (COLL_NEZHA_UNKNOWN != seen->rank[rank].presence) {
            continue;
        }
        if (absent_beside(seen, rank)) {
            seen->rank[rank].presence = COLL_NEZHA_ABSENT;
        } else if (now.tv_sec < end) {
            seen->rank[rank].presence = coll_nezha_peers_ask(ompi_comm_peer_lookup(comm, rank));
            clock_gettime(CLOCK_MONOTONIC, &now);
        }
    }
}

/** Whether `rank` is the first of its node with its presence. */
static bool first_alike(const seen_t *seen, int rank)
{
    for (int other = 0; other < rank; other++) {
        if (seen->rank[other].presence == seen->rank[rank].presence && same_node(seen, other, rank)) {
            return false;
        }
    }
    return true;
}

/** "n1", or "n1 (ranks 3, 5)" if other ranks of the node differ from `rank`. */
static void name_node(FILE *out, const seen_t *seen, int rank)
{
    int alike = 0, others = 0;
    for (int other = 0; other < seen->count; other++) {
        if (same_node(seen, other, rank)) {
            bool like = seen->rank[other].presence == seen->rank[rank].presence;
            alike += like;
            others += !like;
        }
    }
    fprintf(out, "%s", seen->rank[rank].node);
    if (0 == others) {
        return;
    }
    fprintf(out, alike > 1 ? " (ranks " : " (rank ");
    for (int other = rank, named = 0; other < seen->count && named < RANKS_NAMED; other++) {
        if (same_node(seen, other, rank) && seen->rank[other].presence == seen->rank[rank].presence) {
            fprintf(out, "%s%d", named++ > 0 ? ", " : "", other);
        }
    }
    fprintf(out, alike > RANKS_NAMED ? " and %d more)" : ")", alike - RANKS_NAMED);
}

/** One line that names the nodes of `presence`, if there are any. */
static void name_nodes(FILE *out, const seen_t *seen, coll_nezha_presence_t presence, const char *words)
{
    int nodes = 0;
    for (int rank = 0; rank < seen->count; rank++) {
        if (presence != seen->rank[rank].presence || !first_alike(seen, rank)) {
            continue;
        }
        if (nodes < NODES_NAMED) {
            fprintf(out, "%s", 0 == nodes ? words : ", ");
            name_node(out, seen, rank);
        }
        nodes++;
    }
    if (nodes > NODES_NAMED) {
        fprintf(out, " and %d more node%s", nodes - NODES_NAMED, nodes > NODES_NAMED + 1 ? "s" : "");
    }
    if (nodes > 0) {
        fprintf(out, "\n");
    }
}

static void tell(struct ompi_communicator_t *comm, seen_t *seen)
{
    char *text = NULL;
    size_t length = 0;
    look(comm, seen);
    ask(comm, seen);
    FILE *out = open_memstream(&text, &length);
    if (NULL == out) {
        return;
    }
    name_nodes(out, seen, COLL_NEZHA_ABSENT, "  Absent on:    ");
    name_nodes(out, seen, COLL_NEZHA_DISABLED, "  Disabled on:  ");
    name_nodes(out, seen, COLL_NEZHA_OTHER, "  Other one on: ");
    name_nodes(out, seen, COLL_NEZHA_UNKNOWN, "  Not asked:    ");
    if (seen->count < ompi_comm_size(comm)) {
        fprintf(out, "  Not asked:    ranks from %d on\n", seen->count);
    }
    fclose(out);
    nezha_help_show("not everywhere", 2, (const char *[]){comm->c_name, text});
    free(text);
}

void coll_nezha_lacking_tell(struct ompi_communicator_t *comm, bool one_node)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if ((one_node && 0 == coll_nezha_params_int("single_node")) || atomic_flag_test_and_set(&told) || !tells(comm)) {
        return;
    }
    seen_t *seen = calloc(1, sizeof *seen);
    if (NULL != seen) {
        tell(comm, seen);
        free(seen);
    }
}
