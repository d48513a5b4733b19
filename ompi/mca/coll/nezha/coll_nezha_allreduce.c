/* SPDX-License-Identifier: BSD-3-Clause */
/* The way into the engine: translate, call, else the incumbent. No policy here. */
#include "coll_nezha.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"

#include "coll_nezha_reduce.h"
#include "coll_nezha_types.h"
#include "opal/compat.h"

/** Whether the engine can take the call, and the call in its words. */
static bool translate(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                      struct ompi_communicator_t *comm, coll_nezha_reduction_t *reduction, nezha_allreduce_t *call)
{
    *reduction = (coll_nezha_reduction_t){.type = type, .op = op, .comm = comm, .count = (size_t)count};
    if (!coll_nezha_types_translate(reduction, call)) {
        return false;
    }
    call->send = MPI_IN_PLACE == send ? recv : send;
    call->recv = recv;
    call->count = (size_t)count;
    call->reduce_ctx = reduction;
    return true;
}

static bool copy(void *to, const void *from, size_t bytes, bool device)
{
    if (device) {
        return nezha_compat_copy_device(to, from, bytes);
    }
    memcpy(to, from, bytes);
    return true;
}

/** nezha_allreduce(), by way of the host's memory where this rank's vectors lie in that of a device. Other ranks' may
 * lie elsewhere, so that must not decide what carries the call. */
static int carry(nezha_team_t *team, nezha_allreduce_t call)
{
    const bool from_device = nezha_compat_is_device(call.send), to_device = nezha_compat_is_device(call.recv);
    if (!from_device && !to_device) {
        return nezha_allreduce(team, &call);
    }
    const size_t bytes = call.count * call.element;
    void *result = call.recv, *host = malloc(bytes);
    bool copied = NULL != host && copy(host, call.send, bytes, from_device);
    int status = NEZHA_ERR_FAILED;
    if (copied) {
        call.send = call.recv = host;
        status = nezha_allreduce(team, &call);
        copied = NEZHA_OK != status || copy(result, host, bytes, to_device);
    }
    free(host);
    if (!copied) {
        nezha_team_give_up(team, NULL == host ? "no memory to copy a device's vectors to"
                                              : "vectors could not be copied from or to a device");
        return NEZHA_ERR_FAILED;
    }
    return status;
}

int coll_nezha_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_reduction_t reduction;
    nezha_allreduce_t call;
    if (count <= 0) {
        return OMPI_SUCCESS;
    }
    if (!coll_nezha_types_carries(op)) {
        return module->incumbent(send, recv, count, type, op, comm, module->incumbent_module);
    }
    if (COLL_NEZHA_READY != module->state && COLL_NEZHA_DECLINED != module->state) {
        /* By the type's signature, which is the same on all ranks, as the answer must be. */
        int rc = coll_nezha_team_settle(module, comm, (size_t)count * type->super.size);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (COLL_NEZHA_READY == module->state && translate(send, recv, count, type, op, comm, &reduction, &call)) {
        int status = carry(module->team, call);
        if (NEZHA_OK == status) {
            return OMPI_SUCCESS;
        }
        if (NEZHA_USE_INCUMBENT != status) {
            return coll_nezha_team_failed(module, comm, status);
        }
        int rc = module->incumbent(send, recv, count, type, op, comm, module->incumbent_module);
        if (OMPI_SUCCESS == rc) {
            nezha_incumbent_done(module->team);
        }
        return rc;
    }
    return module->incumbent(send, recv, count, type, op, comm, module->incumbent_module);
}
