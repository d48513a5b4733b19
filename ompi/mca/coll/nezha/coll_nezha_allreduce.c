/* SPDX-License-Identifier: BSD-3-Clause */
/* The way into the engine: translate, call, else the incumbent. No policy here. */
#include "coll_nezha.h"

#include "ompi/constants.h"

#include "coll_nezha_call.h"
#include "coll_nezha_incumbent.h"
#include "coll_nezha_types.h"

int coll_nezha_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    coll_nezha_call_t call;
    if (count <= 0) {
        return OMPI_SUCCESS;
    }
    if (!coll_nezha_types_carries(op)) {
        return COLL_NEZHA_CALL_INCUMBENT(module, comm, allreduce, send, recv, count, type, op, comm);
    }
    /* By the type's signature, which is the same on all ranks, as the answer must be. */
    int rc = coll_nezha_team_settle(module, comm, (size_t)count * type->super.size);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (COLL_NEZHA_READY == module->state && coll_nezha_call_translate(&call, send, recv, count, type, op, comm)) {
        int status = coll_nezha_call_carry(&call, module->team);
        if (NEZHA_OK == status) {
            return OMPI_SUCCESS;
        }
        if (NEZHA_USE_INCUMBENT != status) {
            return coll_nezha_team_failed(module, comm, status);
        }
        rc = COLL_NEZHA_CALL_INCUMBENT(module, comm, allreduce, send, recv, count, type, op, comm);
        if (OMPI_SUCCESS == rc) {
            nezha_incumbent_done(module->team, NEZHA_ALLREDUCE);
        }
        return rc;
    }
    return COLL_NEZHA_CALL_INCUMBENT(module, comm, allreduce, send, recv, count, type, op, comm);
}
