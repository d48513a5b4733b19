/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_finalize.h"

#include "ompi/attribute/attribute.h"
#include "ompi/constants.h"
#include "ompi/runtime/params.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_params.h"
#include "coll_nezha_peers.h"
#include "coll_nezha_report.h"
#include "opal/compat.h"
#include "opal/nezha_topology.h"

/* Whether there is to be a report: what rank 0 published decides, so that all ranks take part in gathering it or none. */
static bool report;
/* Why MPI_COMM_WORLD was left to Open MPI; NULL when it was not. Then rank 0 reports alone. */
static const char *left;
/* All ranks have begun MPI_Finalize, and are out of all calls, before MPI_COMM_WORLD goes. */
static bool fence_follows;

/** Communicators of ranks that all use Nezha may have been carried although MPI_COMM_WORLD was not. */
static bool carried(void)
{
    nezha_memory_stats_t memory = {0};
    nezha_engine_memory_stats(coll_nezha_engine(), &memory);
    return coll_nezha_engine_calls() + memory.calls > 0;
}

/** Called at the very start of MPI_Finalize, while everything still works. */
static int finalize_begins(MPI_Comm self, int keyval, void *attribute, void *extra)
{
    (void)self;
    (void)keyval;
    (void)attribute;
    (void)extra;
    if (report && NULL != left) {
        coll_nezha_report_left(left);
    } else if (report) {
        coll_nezha_report_print();
    }
    if (NULL != coll_nezha_engine() && (NULL == left || carried())) {
        nezha_engine_ending(coll_nezha_engine(), !ompi_async_mpi_finalize);
        fence_follows = !ompi_async_mpi_finalize;
    }
    return MPI_SUCCESS;
}

static int not_copied(NEZHA_COPY_ATTRIBUTE_PARAMS)
{
    (void)from;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/** MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF. The public functions refuse to work inside
 * MPI_Init, hence the internal ones. */
static void watch_finalize(void)
{
    int keyval = MPI_KEYVAL_INVALID;
    ompi_communicator_t *self = MPI_COMM_SELF;
    ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn = not_copied};
    ompi_attribute_fn_ptr_union_t delete = {.attr_communicator_delete_fn = finalize_begins};
    if (OMPI_SUCCESS == ompi_attr_create_keyval(COMM_ATTR, copy, delete, &keyval, NULL, 0, NULL)) {
        ompi_attr_set_c(COMM_ATTR, self, &self->c_keyhash, keyval, NULL, false);
    }
}

void coll_nezha_finalize_prepare(struct ompi_communicator_t *world)
{
    const coll_nezha_peer_t *first = coll_nezha_peers_find(ompi_comm_peer_lookup(world, 0));
    report = NULL != first && first->report;
    watch_finalize();
}

void coll_nezha_finalize_left(const char *reason)
{
    left = reason;
    report = 0 == nezha_topology_job_rank() && coll_nezha_params_bool("report");
    watch_finalize();
}

void coll_nezha_finalize_world_gone(void)
{
    nezha_engine_t *engine = coll_nezha_engine();
    if (fence_follows && NULL != engine && nezha_engine_host_carries(engine)) {
        nezha_engine_part(engine);
    }
    fence_follows = false;
}
