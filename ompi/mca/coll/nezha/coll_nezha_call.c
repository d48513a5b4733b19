/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_call.h"

#include <stdlib.h>

#include "coll_nezha_revoked.h"
#include "coll_nezha_stage.h"
#include "coll_nezha_types.h"

bool coll_nezha_call_translate(coll_nezha_call_t *call, const void *send, void *recv, int count,
                               struct ompi_datatype_t *type, struct ompi_op_t *op, struct ompi_communicator_t *comm)
{
    *call = (coll_nezha_call_t){.reduction = {.type = type, .op = op, .comm = comm, .count = (size_t)count}};
    if (!coll_nezha_types_translate(&call->reduction, &call->words)) {
        return false;
    }
    call->words.send = MPI_IN_PLACE == send ? recv : send;
    call->words.recv = recv;
    call->words.count = (size_t)count;
    call->words.reduce_ctx = &call->reduction;
    return true;
}

static int cannot_copy(coll_nezha_call_t *call, nezha_team_t *team)
{
    nezha_team_give_up(team, NULL == call->host ? "no memory to copy vectors to" : "vectors could not be copied");
    free(call->host);
    free(call->sizes);
    call->host = NULL;
    call->sizes = NULL;
    return NEZHA_ERR_FAILED;
}

int coll_nezha_call_stage_in(coll_nezha_call_t *call, nezha_team_t *team)
{
    if (!coll_nezha_stage_in(call)) {
        return cannot_copy(call, team);
    }
    coll_nezha_revoked_watch(call, team);
    return NEZHA_OK;
}

int coll_nezha_call_stage_out(coll_nezha_call_t *call, nezha_team_t *team, int status)
{
    coll_nezha_revoked_forget(call);
    return coll_nezha_stage_out(call, status) ? status : cannot_copy(call, team);
}

int coll_nezha_call_carry(coll_nezha_call_t *call, nezha_team_t *team)
{
    int status = coll_nezha_call_stage_in(call, team);
    if (NEZHA_OK != status) {
        return status;
    }
    return coll_nezha_call_stage_out(call, team, nezha_carry(team, &call->words));
}
