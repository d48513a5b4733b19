/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's collectives beside allreduce, each in a form that blocks and one that does not. What the engine does not take,
 * and everything until there is a team, goes to the incumbent of the call.
 */
#include "coll_nezha.h"

#include "ompi/constants.h"

#include "coll_nezha_incumbent.h"
#include "coll_nezha_request.h"
#include "coll_nezha_sibling.h"

/** Whether that is the call's end; `*rc` is then what it returns. */
static bool is_end(coll_nezha_module_t *module, struct ompi_communicator_t *comm, int status, int *rc)
{
    if (NEZHA_OK != status && NEZHA_USE_INCUMBENT != status) {
        *rc = coll_nezha_team_failed(module, comm, status);
    } else {
        *rc = OMPI_SUCCESS;
    }
    return NEZHA_USE_INCUMBENT != status;
}

/** Whether the memory that ranks of a node share is of use to the call: blocks of unequal sizes go from rank to rank. */
static bool suits_memory(const coll_nezha_call_t *call)
{
    for (int rank = 1; NULL != call->counts && rank < ompi_comm_size(call->reduction.comm); rank++) {
        if (call->counts[rank] != call->counts[0]) {
            return false;
        }
    }
    return true;
}

/** Whether Nezha is to have such a call, as far as all ranks see alike: they make the same calls in the same order. */
static bool wanted(coll_nezha_module_t *module, const coll_nezha_call_t *call)
{
    if (0 != (module->collectives & 1u << call->words.collective)) {
        return true;
    }
    if (0 == (module->large & 1u << call->words.collective) ||
        call->words.count * call->words.element < COLL_NEZHA_LARGE || (module->large_by_memory && !suits_memory(call))) {
        return false;
    }
    return COLL_NEZHA_NEW != module->state || module->large_calls++ >= COLL_NEZHA_FEW;
}

/** Whether rails have carried it, or it has failed; `*rc` is then what it returns. */
static bool carried(coll_nezha_module_t *module, coll_nezha_call_t *call, int *rc)
{
    struct ompi_communicator_t *comm = call->reduction.comm;
    if (!wanted(module, call)) {
        return false;
    }
    *rc = coll_nezha_team_settle(module, comm, call->words.count * call->words.element);
    if (OMPI_SUCCESS != *rc) {
        return true;
    }
    if (0 == call->words.count || COLL_NEZHA_READY != module->state) {
        return false;
    }
    return is_end(module, comm, coll_nezha_call_carry(call, module->team), rc);
}

/** What the incumbent of a call that blocks has returned: the engine may have wanted to know how long it takes. */
static int done(const coll_nezha_module_t *module, nezha_collective_t collective, int rc)
{
    if (OMPI_SUCCESS == rc && COLL_NEZHA_READY == module->state) {
        nezha_incumbent_done(module->team, collective);
    }
    return rc;
}

/** As carried(), of one that does not block: agreements are left to those that do. */
static bool started(coll_nezha_module_t *module, const coll_nezha_call_t *call, ompi_request_t **request, int *rc)
{
    if (!wanted(module, call) || coll_nezha_call_is_maybe_internal(call)) {
        return false;
    }
    module->wants_team = true;
    if (0 == call->words.count || COLL_NEZHA_READY != module->state) {
        return false;
    }
    return is_end(module, call->reduction.comm, coll_nezha_request_begin(module, call, request), rc);
}

int coll_nezha_reduce_scatter_block(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                                    struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                    mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce_scatter(&call, send, recv, count, NULL, type, op, comm) &&
        carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_REDUCE_SCATTER,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, reduce_scatter_block, send, recv, count, type, op, comm));
}

int coll_nezha_ireduce_scatter_block(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                                     struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                                     mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *theirs = &module->incumbent;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce_scatter(&call, send, recv, count, NULL, type, op, comm) &&
        started(module, &call, request, &rc)) {
        return rc;
    }
    return theirs->ireduce_scatter_block(send, recv, count, type, op, comm, request,
                                         theirs->ireduce_scatter_block_module);
}

int coll_nezha_reduce_scatter(const void *send, void *recv, const int *counts, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce_scatter(&call, send, recv, 0, counts, type, op, comm) &&
        carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_REDUCE_SCATTER,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, reduce_scatter, send, recv, counts, type, op, comm));
}

int coll_nezha_ireduce_scatter(const void *send, void *recv, const int *counts, struct ompi_datatype_t *type,
                               struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                               mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *theirs = &module->incumbent;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce_scatter(&call, send, recv, 0, counts, type, op, comm) &&
        started(module, &call, request, &rc)) {
        return rc;
    }
    return theirs->ireduce_scatter(send, recv, counts, type, op, comm, request, theirs->ireduce_scatter_module);
}

int coll_nezha_allgather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *recv,
                         int recv_count, struct ompi_datatype_t *recv_type, struct ompi_communicator_t *comm,
                         mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_allgather(&call, send, send_count, send_type, recv, recv_count, NULL, NULL, recv_type,
                                     comm) &&
        carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_ALLGATHER,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, allgather, send, send_count, send_type, recv, recv_count, recv_type,
                                          comm));
}

int coll_nezha_iallgather(const void *send, int send_count, struct ompi_datatype_t *send_type, void *recv,
                          int recv_count, struct ompi_datatype_t *recv_type, struct ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *theirs = &module->incumbent;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_allgather(&call, send, send_count, send_type, recv, recv_count, NULL, NULL, recv_type,
                                     comm) &&
        started(module, &call, request, &rc)) {
        return rc;
    }
    return theirs->iallgather(send, send_count, send_type, recv, recv_count, recv_type, comm, request,
                              theirs->iallgather_module);
}

int coll_nezha_allgatherv(const void *send, int send_count, struct ompi_datatype_t *send_type, void *recv,
                          const int *counts, const int *displacements, struct ompi_datatype_t *recv_type,
                          struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_allgather(&call, send, send_count, send_type, recv, 0, counts, displacements, recv_type,
                                     comm) &&
        carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_ALLGATHER,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, allgatherv, send, send_count, send_type, recv, counts, displacements,
                                          recv_type, comm));
}

int coll_nezha_iallgatherv(const void *send, int send_count, struct ompi_datatype_t *send_type, void *recv,
                           const int *counts, const int *displacements, struct ompi_datatype_t *recv_type,
                           struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *theirs = &module->incumbent;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_allgather(&call, send, send_count, send_type, recv, 0, counts, displacements, recv_type,
                                     comm) &&
        started(module, &call, request, &rc)) {
        return rc;
    }
    return theirs->iallgatherv(send, send_count, send_type, recv, counts, displacements, recv_type, comm, request,
                               theirs->iallgatherv_module);
}

int coll_nezha_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                     mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_bcast(&call, buffer, count, type, root, comm) && carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_BROADCAST,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, bcast, buffer, count, type, root, comm));
}

int coll_nezha_ibcast(void *buffer, int count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                      ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_bcast(&call, buffer, count, type, root, comm) && started(module, &call, request, &rc)) {
        return rc;
    }
    return module->incumbent.ibcast(buffer, count, type, root, comm, request, module->incumbent.ibcast_module);
}

int coll_nezha_reduce_to_root(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
                              mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce(&call, send, recv, count, type, op, root, comm) && carried(module, &call, &rc)) {
        return rc;
    }
    return done(module, NEZHA_REDUCE,
                COLL_NEZHA_CALL_INCUMBENT(module, comm, reduce, send, recv, count, type, op, root, comm));
}

int coll_nezha_ireduce_to_root(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                               struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
                               ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_reduce(&call, send, recv, count, type, op, root, comm) &&
        started(module, &call, request, &rc)) {
        return rc;
    }
    return module->incumbent.ireduce(send, recv, count, type, op, root, comm, request,
                                     module->incumbent.ireduce_module);
}

/* Where it is left to Open MPI, a program that has no other blocking call may still come to a team here: all of them
 * meet anyway. */
int coll_nezha_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc = OMPI_SUCCESS;
    if (0 != (module->collectives & 1u << NEZHA_BARRIER)) {
        if (coll_nezha_sibling_barrier(&call, comm) && carried(module, &call, &rc)) {
            return rc;
        }
    } else if (module->wants_team) {
        rc = coll_nezha_team_settle(module, comm, 0);
    }
    return OMPI_SUCCESS == rc ? COLL_NEZHA_CALL_INCUMBENT(module, comm, barrier, comm) : rc;
}

int coll_nezha_ibarrier(struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    int rc;
    if (coll_nezha_sibling_barrier(&call, comm) && started(module, &call, request, &rc)) {
        return rc;
    }
    return module->incumbent.ibarrier(comm, request, module->incumbent.ibarrier_module);
}
