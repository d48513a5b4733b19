/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_request.h"

#include <pthread.h>
#include <stdatomic.h>

#include "ompi/constants.h"
#include "ompi/errhandler/errcode-internal.h"
#include "opal/class/opal_list.h"
#include "opal/runtime/opal_progress.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_revoked.h"

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards what follows; never held while anybody else is called */
static bool opened;
static opal_list_t under_way;
static atomic_uint count_under_way;
/* Not an opal_free_list_t: its inline functions need the compiler options of Open MPI's own build (-mcx16). */
static opal_list_t idle;

static int free_request(ompi_request_t **handle)
{
    coll_nezha_request_t *request = (coll_nezha_request_t *)*handle;
    if (!REQUEST_COMPLETE(*handle)) {
        return MPI_ERR_REQUEST;
    }
    struct ompi_communicator_t *comm = NULL; /* of a persistent one, which keeps it */
    if (NULL != request->incumbent) {
        comm = request->super.super.req_mpi_object.comm;
        ompi_request_free(&request->incumbent);
        request->incumbent = NULL;
    }
    coll_nezha_request_give_back(request);
    *handle = MPI_REQUEST_NULL;
    if (NULL != comm) {
        OBJ_RELEASE(comm);
    }
    return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t *request, int flag)
{
    (void)request;
    (void)flag;
    return MPI_ERR_REQUEST;
}

static void request_construct(coll_nezha_request_t *request)
{
    ompi_request_t *base = &request->super.super;
    base->req_type = OMPI_REQUEST_COLL;
    base->req_status._cancelled = 0;
    base->req_free = free_request;
    base->req_cancel = cancel_request;
    request->incumbent = NULL;
    request->engine = NULL;
    request->call.watched = false;
}

OBJ_CLASS_INSTANCE(coll_nezha_request_t, ompi_coll_base_nbc_request_t, request_construct, NULL);

/** Of one that keeps its communicator; `error` is an OMPI code. Open MPI hands the status on as it is. */
static void complete_with(coll_nezha_request_t *request, int error)
{
    struct ompi_communicator_t *comm = request->super.super.req_mpi_object.comm;
    request->super.super.req_status.MPI_ERROR = ompi_errcode_get_mpi_code(error);
    ompi_request_complete(&request->super.super, true);
    /* The communicator may have been freed meanwhile, and this may be the last reference to it. After an error there has to
     * be one for good, because Open MPI asks the communicator for its error handler after it has freed the request. */
    if (OMPI_SUCCESS == error) {
        OBJ_RELEASE(comm);
    }
}

/** The state that its completion leaves it in. */
static void complete(coll_nezha_request_t *request)
{
    int error;
    if (request->with_incumbent) {
        request->with_incumbent = false;
        request->incumbent->req_state = OMPI_REQUEST_INACTIVE;
        error = request->incumbent->req_status.MPI_ERROR;
    } else {
        int status = nezha_request_state(request->engine);
        nezha_request_free(request->engine);
        request->engine = NULL;
        if (NEZHA_OK == status) {
            status = coll_nezha_call_deliver(NULL, &request->call);
        }
        coll_nezha_call_end(&request->call);
        error = NEZHA_OK == status ? OMPI_SUCCESS
                                   : coll_nezha_team_failed(request->module, request->super.super.req_mpi_object.comm, status);
    }
    complete_with(request, error);
}

static bool over(const coll_nezha_request_t *request)
{
    if (request->with_incumbent) {
        return REQUEST_COMPLETE(request->incumbent);
    }
    const int status = nezha_request_state(request->engine);
    if (NEZHA_PENDING == status || NEZHA_OK == status) {
        return NEZHA_OK == status;
    }
    return !coll_nezha_team_awaits_reason(request->module, request->super.super.req_mpi_object.comm);
}

static void remove_from_under_way(coll_nezha_request_t *request)
{
    opal_list_remove_item(&under_way, (opal_list_item_t *)request);
    atomic_fetch_sub_explicit(&count_under_way, 1, memory_order_relaxed);
}

/** One that is over, which is under way no longer; NULL: there is none. */
static coll_nezha_request_t *take_over(void)
{
    coll_nezha_request_t *found = NULL, *each;
    if (0 != pthread_mutex_trylock(&lock)) {
        return NULL; /* another thread looks, or this one does further up */
    }
    OPAL_LIST_FOREACH(each, &under_way, coll_nezha_request_t)
    {
        if (over(each)) {
            found = each;
            remove_from_under_way(each);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/** Called by opal_progress(), also by one that the engine calls, and from within complete(). */
static int progress(void)
{
    if (0 == atomic_load_explicit(&count_under_way, memory_order_relaxed)) {
        return 0;
    }
    int events = NULL != coll_nezha_engine() ? nezha_engine_progress(coll_nezha_engine()) : 0;
    coll_nezha_revoked_look();
    coll_nezha_request_t *request;
    while (NULL != (request = take_over())) {
        complete(request);
        events++;
    }
    return events;
}

static bool open_once(void)
{
    pthread_mutex_lock(&lock);
    if (!opened) {
        OBJ_CONSTRUCT(&under_way, opal_list_t);
        OBJ_CONSTRUCT(&idle, opal_list_t);
        opened = OPAL_SUCCESS == opal_progress_register(progress);
    }
    const bool open = opened;
    pthread_mutex_unlock(&lock);
    return open;
}

void coll_nezha_request_close(void)
{
    if (opened) {
        opal_progress_unregister(progress);
        OPAL_LIST_DESTRUCT(&idle);
        OBJ_DESTRUCT(&under_way);
        atomic_store_explicit(&count_under_way, 0, memory_order_relaxed);
        opened = false;
    }
}

void coll_nezha_request_forget(const coll_nezha_module_t *module)
{
    coll_nezha_request_t *each, *next;
    pthread_mutex_lock(&lock);
    if (opened) {
        OPAL_LIST_FOREACH_SAFE(each, next, &under_way, coll_nezha_request_t)
        {
            if (each->module == module) {
                remove_from_under_way(each);
                coll_nezha_revoked_forget(&each->call);
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

coll_nezha_request_t *coll_nezha_request_take(coll_nezha_module_t *module, struct ompi_communicator_t *comm,
                                              bool persistent)
{
    if (!open_once()) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    coll_nezha_request_t *request = (coll_nezha_request_t *)opal_list_remove_first(&idle);
    pthread_mutex_unlock(&lock);
    if (NULL == request) {
        request = OBJ_NEW(coll_nezha_request_t);
    }
    if (NULL != request) {
        ompi_request_t *base = &request->super.super;
        OMPI_REQUEST_INIT(base, persistent);
        base->req_mpi_object.comm = comm;
        base->req_status.MPI_ERROR = OMPI_SUCCESS;
        base->req_free = free_request; /* Open MPI may have put its own in front */
        request->module = module;
        request->with_incumbent = false;
    }
    return request;
}

void coll_nezha_request_give_back(coll_nezha_request_t *request)
{
    OMPI_REQUEST_FINI(&request->super.super);
    pthread_mutex_lock(&lock);
    opal_list_append(&idle, (opal_list_item_t *)request);
    pthread_mutex_unlock(&lock);
}

static void activate(coll_nezha_request_t *request)
{
    request->super.super.req_state = OMPI_REQUEST_ACTIVE;
    OBJ_RETAIN(request->super.super.req_mpi_object.comm);
}

void coll_nezha_request_fail(coll_nezha_request_t *request, int error)
{
    activate(request);
    complete_with(request, error);
}

void coll_nezha_request_follow(coll_nezha_request_t *request)
{
    activate(request);
    pthread_mutex_lock(&lock);
    opal_list_append(&under_way, (opal_list_item_t *)request);
    atomic_fetch_add_explicit(&count_under_way, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

int coll_nezha_request_start(coll_nezha_request_t *request)
{
    nezha_team_t *team = request->module->team;
    int status = coll_nezha_call_begin(&request->call, team);
    if (NEZHA_OK != status) {
        return status;
    }
    status = nezha_start(team, &request->call.words, &request->engine);
    if (NEZHA_OK == status) {
        coll_nezha_request_follow(request);
    } else {
        coll_nezha_call_end(&request->call);
    }
    return status;
}

int coll_nezha_request_begin(coll_nezha_module_t *module, const coll_nezha_call_t *call, ompi_request_t **request)
{
    coll_nezha_request_t *mine = coll_nezha_request_take(module, call->reduction.comm, false);
    if (NULL == mine) {
        nezha_team_give_up(module->team, "no memory for a request");
        return NEZHA_ERR_MEMORY;
    }
    mine->call = *call;
    int status = coll_nezha_request_start(mine);
    if (NEZHA_OK == status) {
        *request = &mine->super.super;
    } else {
        coll_nezha_request_give_back(mine);
    }
    return status;
}
