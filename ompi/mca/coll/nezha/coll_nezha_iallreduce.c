/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Iallreduce and MPI_Allreduce_init. Neither waits for other ranks, so a communicator's agreements are left to its
 * blocking calls; until then, and for what the engine does not take, the incumbent of the call carries it.
 */
#include "coll_nezha.h"

#include "ompi/constants.h"

#include "coll_nezha_call.h"
#include "coll_nezha_request.h"
#include "coll_nezha_types.h"

int coll_nezha_iallreduce(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                          struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *incumbent = &module->incumbent;
    coll_nezha_call_t call;
    const bool takes = count > 0 && coll_nezha_types_carries(op) &&
                       coll_nezha_call_translate(&call, send, recv, count, type, op, comm) &&
                       !coll_nezha_call_is_maybe_internal(&call);
    module->wants_team = module->wants_team || takes;
    int status = NEZHA_USE_INCUMBENT;
    if (takes && COLL_NEZHA_READY == module->state) {
        status = coll_nezha_request_begin(module, &call, request);
    }
    if (NEZHA_OK == status) {
        return OMPI_SUCCESS;
    }
    if (NEZHA_USE_INCUMBENT != status) {
        return coll_nezha_team_failed(module, comm, status);
    }
    return incumbent->iallreduce(send, recv, count, type, op, comm, request, incumbent->iallreduce_module);
}

/** MPI lets ranks start persistent calls in different orders (MPI 4.1, section 6.13), so the engine takes only those of which the user
 * says that the order is the same, as it is of all other calls: then they decide alike. Where a call cannot be started its request is
 * over at once, with the error: MPI_Startall drops what this returns, and so do programs that leave errors to a handler, which
 * MPI_Start of 4.1 does not call. */
static int start(coll_nezha_request_t *request)
{
    ompi_request_t *base = &request->super.super;
    if (OMPI_REQUEST_INACTIVE != base->req_state) {
        return MPI_ERR_REQUEST; /* 4.1 does not look */
    }
    base->req_status.MPI_ERROR = OMPI_SUCCESS;
    base->req_complete = REQUEST_PENDING;
    int status = NEZHA_USE_INCUMBENT;
    if (COLL_NEZHA_READY == request->module->state) {
        request->call = request->prepared;
        status = coll_nezha_request_start(request);
    }
    int rc = OMPI_SUCCESS;
    if (NEZHA_USE_INCUMBENT == status) {
        rc = request->incumbent->req_start(1, &request->incumbent);
        if (OMPI_SUCCESS == rc) {
            request->with_incumbent = true;
            coll_nezha_request_follow(request);
        }
    } else if (NEZHA_OK != status) {
        rc = coll_nezha_team_failed(request->module, base->req_mpi_object.comm, status);
    }
    if (OMPI_SUCCESS != rc) {
        coll_nezha_request_fail(request, rc);
    }
    return OMPI_SUCCESS;
}

static int start_all(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; i++) {
        int rc = start((coll_nezha_request_t *)requests[i]);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

int coll_nezha_allreduce_init(const void *send, void *recv, int count, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    const coll_nezha_incumbent_t *incumbent = &module->incumbent;
    ompi_request_t *theirs = MPI_REQUEST_NULL;
    module->wants_team = true;
    int rc =
        incumbent->allreduce_init(send, recv, count, type, op, comm, info, &theirs, incumbent->allreduce_init_module);
    coll_nezha_call_t call;
    if (OMPI_SUCCESS != rc || count <= 0 || COLL_NEZHA_DECLINED == module->state || !coll_nezha_types_carries(op) ||
        !coll_nezha_call_translate(&call, send, recv, count, type, op, comm)) {
        *request = theirs;
        return rc;
    }
    coll_nezha_request_t *mine = coll_nezha_request_take(module, comm, true);
    if (NULL == mine) {
        ompi_request_free(&theirs);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mine->prepared = call;
    mine->prepared.words.persistent = 1;
    mine->incumbent = theirs;
    mine->super.super.req_start = start_all;
    OBJ_RETAIN(comm); /* it may be freed before the request */
    *request = &mine->super.super;
    return OMPI_SUCCESS;
}
