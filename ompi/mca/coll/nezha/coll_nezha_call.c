/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_call.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nezha_sibling.h"
#include "coll_nezha_types.h"
#include "opal/compat.h"

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

static bool copy(void *to, const void *from, size_t bytes, bool device)
{
    if (device) {
        return nezha_compat_copy_device(to, from, bytes);
    }
    memcpy(to, from, bytes);
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
    if (NEZHA_ALLREDUCE != call->words.collective) {
        return coll_nezha_sibling_stage_in(call) ? NEZHA_OK : cannot_copy(call, team);
    }
    const bool from_device = nezha_compat_is_device(call->words.send);
    call->to_device = nezha_compat_is_device(call->words.recv);
    if (!from_device && !call->to_device) {
        return NEZHA_OK;
    }
    const size_t bytes = call->words.count * call->words.element;
    call->host = malloc(bytes);
    if (NULL == call->host || !copy(call->host, call->words.send, bytes, from_device)) {
        return cannot_copy(call, team);
    }
    call->result = call->words.recv;
    call->words.send = call->words.recv = call->host;
    return NEZHA_OK;
}

int coll_nezha_call_stage_out(coll_nezha_call_t *call, nezha_team_t *team, int status)
{
    if (NEZHA_ALLREDUCE != call->words.collective) {
        return coll_nezha_sibling_stage_out(call, status) ? status : cannot_copy(call, team);
    }
    if (NULL == call->host) {
        return status;
    }
    const size_t bytes = call->words.count * call->words.element;
    if (NEZHA_OK == status && !copy(call->result, call->host, bytes, call->to_device)) {
        return cannot_copy(call, team);
    }
    free(call->host);
    call->host = NULL;
    return status;
}
