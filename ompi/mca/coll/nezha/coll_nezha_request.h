/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Calls that do not block, and persistent ones, as Open MPI's requests.
 *
 * A request is under way in the engine, or, for a persistent one, with the incumbent, and is completed by a callback of
 * opal_progress(): only there, by a thread that MPI gave us.
 */
#ifndef MCA_COLL_NEZHA_REQUEST_H
#define MCA_COLL_NEZHA_REQUEST_H

#include "coll_nezha.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/request/request.h"

#include "coll_nezha_call.h"

typedef struct coll_nezha_request {
    ompi_coll_base_nbc_request_t super; /* Open MPI casts to this and writes into it */
    coll_nezha_module_t *module;
    coll_nezha_call_t call;
    nezha_request_t *engine; /* NULL: it is not under way there */
    /* Persistent only: */
    coll_nezha_call_t prepared; /* what each start carries */
    ompi_request_t *incumbent;
    bool with_incumbent;
} coll_nezha_request_t;
OBJ_CLASS_DECLARATION(coll_nezha_request_t);

/** An idle one for calls on `comm`; NULL when memory is refused. */
coll_nezha_request_t *coll_nezha_request_take(coll_nezha_module_t *module, struct ompi_communicator_t *comm,
                                              bool persistent);
/** Of one that is not under way. */
void coll_nezha_request_give_back(coll_nezha_request_t *request);

/** Begins a call that does not block: `*request` is the user's then. Where there is no memory for one the team is given up,
 * since the others begin theirs. Returns a NEZHA code. */
int coll_nezha_request_begin(coll_nezha_module_t *module, const coll_nezha_call_t *call, ompi_request_t **request);

/** Starts what `call` says in the engine; the communicator stays until it is over. Returns a NEZHA code. */
int coll_nezha_request_start(coll_nezha_request_t *request);
/** The incumbent's request of a persistent one has been started: that counts. */
void coll_nezha_request_follow(coll_nezha_request_t *request);
/** A persistent one could not be started: whoever waits for it gets `error`, an OMPI code. */
void coll_nezha_request_fail(coll_nezha_request_t *request, int error);

/** The module is about to free its team. Requests that are under way stay as they are: of MPI_COMM_WORLD's there may be
 * some in MPI_Finalize, where a program does not complete them. */
void coll_nezha_request_forget(const coll_nezha_module_t *module);
/** No request is completed any more. */
void coll_nezha_request_close(void);

#endif
