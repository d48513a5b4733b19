/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which communicators the component takes. Every rank must answer alike, so an answer depends only on what all of them
 * know: the communicator's members, their nodes, and what they published.
 */
#include "coll_nezha.h"

#include <stdlib.h>

#include "ompi/proc/proc.h"

#include "coll_nezha_finalize.h"
#include "coll_nezha_lacking.h"
#include "coll_nezha_peers.h"
#include "opal/nezha_topology.h"

/** Whether all members are of this job; `*one_node` tells whether they are all on this node. */
static bool within_job(struct ompi_communicator_t *comm, bool *one_node)
{
    *one_node = true;
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
        if (NULL == proc || !nezha_topology_same_job(&proc->super.proc_name)) {
            return false;
        }
        *one_node = *one_node && nezha_topology_same_node(&proc->super);
    }
    return true;
}

/** What rank 0 wants for all, and what makes of a communicator of one node one that has rails. */
typedef struct wanted {
    int priority;
    unsigned collectives, collectives_large;
    bool shared_memory;
    int single_nodes; /* how many members have rails within a node */
} wanted_t;

/** NULL if all members have the component; else why the communicator is left to Open MPI. Stops at the first that has not, since
 * each absent one costs a long wait. */
static const char *unwilling(struct ompi_communicator_t *comm, bool one_node, wanted_t *wanted)
{
    *wanted = (wanted_t){.priority = 0};
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        const coll_nezha_peer_t *peer = coll_nezha_peers_find(ompi_comm_peer_lookup(comm, rank));
        if (NULL == peer) {
            coll_nezha_lacking_tell(comm, one_node);
            return "not all ranks use Nezha; where no text above names them, nezha doctor finds them";
        }
        wanted->single_nodes += peer->single_node ? 1 : 0;
        if (0 == rank) {
            wanted->priority = peer->priority;
            wanted->collectives = peer->collectives;
            wanted->collectives_large = peer->collectives_large;
            wanted->shared_memory = peer->shared_memory;
        }
    }
    if (one_node && wanted->single_nodes < ompi_comm_size(comm) && (wanted->single_nodes > 0 || !wanted->shared_memory)) {
        return "all ranks are on one node, where Open MPI's own allreduce is used";
    }
    return NULL;
}

static int by_number(const void *one, const void *other)
{
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/** How many members each node has, all of which have the component; 0: nodes have unequal numbers. */
static size_t members_of_each(struct ompi_communicator_t *comm)
{
    const size_t size = (size_t)ompi_comm_size(comm);
    uint32_t *nodes = malloc(size * sizeof *nodes);
    if (NULL == nodes) {
        abort(); /* an answer of its own would be another one than the other ranks' */
    }
    for (size_t rank = 0; rank < size; rank++) {
        nodes[rank] = coll_nezha_peers_find(ompi_comm_peer_lookup(comm, (int)rank))->node;
    }
    qsort(nodes, size, sizeof *nodes, by_number);
    size_t each = 1;
    while (each < size && nodes[each] == nodes[0]) {
        each++;
    }
    bool equal = 0 == size % each;
    for (size_t i = each; equal && i < size; i++) {
        equal = (nodes[i] == nodes[i - 1]) == (0 != i % each);
    }
    free(nodes);
    return equal ? each : 0;
}

/** Those whose vectors go through the memory that ranks of a node share: these anyway, and these where nodes have equally many
 * ranks. The others' go from rank to rank. */
enum { BY_MEMORY = 1u << NEZHA_BROADCAST | 1u << NEZHA_REDUCE, BY_BLOCKS = 1u << NEZHA_REDUCE_SCATTER | 1u << NEZHA_ALLGATHER };

/** Of those that nobody has named, which are carried of large vectors: where each member has a node to itself all, elsewhere
 * what gains by the memory that ranks of a node share. */
static void set_large(coll_nezha_module_t *module, struct ompi_communicator_t *comm, const wanted_t *wanted, bool one_node)
{
    const unsigned unnamed = wanted->collectives_large & ~wanted->collectives;
    if (0 == unnamed) {
        return;
    }
    const size_t members = one_node ? (size_t)ompi_comm_size(comm) : members_of_each(comm);
    if (1 == members) {
        module->large = unnamed;
    } else if (one_node ? module->within_node : wanted->shared_memory) {
        module->large = unnamed & (0 != members ? BY_MEMORY | BY_BLOCKS : BY_MEMORY);
        module->large_by_memory = true;
    }
}

/** The answer no. */
static mca_coll_base_module_t *leave(const struct ompi_communicator_t *comm, const char *reason)
{
    if (MPI_COMM_WORLD == comm) {
        coll_nezha_finalize_left(reason);
    }
    return NULL;
}

mca_coll_base_module_t *coll_nezha_comm_query(struct ompi_communicator_t *comm, int *priority)
{
    bool one_node = false;
    if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2 || !within_job(comm, &one_node)) {
        return leave(comm, "the job has one rank only");
    }
    wanted_t wanted;
    const char *reason = unwilling(comm, one_node, &wanted);
    if (NULL != reason) {
        return leave(comm, reason);
    }
    coll_nezha_module_t *module = OBJ_NEW(coll_nezha_module_t);
    if (NULL == module) {
        return NULL;
    }
    *priority = wanted.priority;
    module->super.coll_module_enable = coll_nezha_module_enable;
    module->super.coll_allreduce = coll_nezha_allreduce;
    module->super.coll_iallreduce = coll_nezha_iallreduce;
    module->super.coll_allreduce_init = coll_nezha_allreduce_init;
    module->within_node = one_node && 0 == wanted.single_nodes;
    module->collectives = wanted.collectives;
    if (module->within_node) { /* other calls stay as they are */
        wanted.collectives &= 1u << NEZHA_BARRIER | BY_MEMORY | BY_BLOCKS;
    }
    if (!module->within_node || 0 != (wanted.collectives & 1u << NEZHA_BARRIER)) {
        module->super.coll_barrier = coll_nezha_barrier;
    }
    set_large(module, comm, &wanted, one_node);
#define REPLACE_IF_ASKED(call, collective, ours)                              \
    if (0 != ((wanted.collectives | module->large) & 1u << (collective))) {  \
        module->super.coll_##call = ours;                                     \
    }
    COLL_NEZHA_SIBLINGS(REPLACE_IF_ASKED)
    return &module->super;
}
