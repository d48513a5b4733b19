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
    return true;
}

static int given_up(const coll_nezha_call_t *call, const char *why)
{
    nezha_team_give_up(call->team, why);
    return NEZHA_ERR_FAILED;
}

int coll_nezha_call_begin(coll_nezha_call_t *call, nezha_team_t *team)
{
    call->team = team;
    call->words.call_ctx = &call->reduction;
    if (!coll_nezha_stage_prepare(call)) {
        return given_up(call, "no memory for a call");
    }
    coll_nezha_revoked_watch(call);
    return NEZHA_OK;
}

int coll_nezha_call_bring(void *ctx, void *call_ctx, const void **send, void **recv)
{
    coll_nezha_call_t *call = call_ctx;
    (void)ctx;
    if (!coll_nezha_stage_in(call)) {
        return given_up(call, NULL == call->host ? "no memory to copy vectors to" : "vectors could not be copied");
    }
    *send = call->words.send;
    *recv = call->words.recv;
    return NEZHA_OK;
}

int coll_nezha_call_deliver(void *ctx, void *call_ctx)
{
    const coll_nezha_call_t *call = call_ctx;
    (void)ctx;
    return coll_nezha_stage_out(call) ? NEZHA_OK : given_up(call, "a result could not be copied");
}

void coll_nezha_call_end(coll_nezha_call_t *call)
{
    coll_nezha_revoked_forget(call);
    free(call->host);
    free(call->sizes);
    call->host = NULL;
    call->sizes = NULL;
}

int coll_nezha_call_carry(coll_nezha_call_t *call, nezha_team_t *team)
{
    int status = coll_nezha_call_begin(call, team);
    if (NEZHA_OK == status) {
        status = nezha_carry(team, &call->words);
        coll_nezha_call_end(call);
    }
    return status;
}
