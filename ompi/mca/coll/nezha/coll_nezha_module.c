/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's module: the incumbent that it keeps, and its end. */
#include "coll_nezha.h"

#include <pthread.h>

#include "ompi/constants.h"

#include "coll_nezha_finalize.h"
#include "coll_nezha_report.h"
#include "coll_nezha_request.h"

/* Enabled modules, through their `live` item; `lock` guards the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static opal_list_t *modules;

static void module_construct(coll_nezha_module_t *module)
{
    module->incumbent = (coll_nezha_incumbent_t){0};
    module->state = COLL_NEZHA_NEW;
    module->collectives = 0;
    module->large = 0;
    module->world = false;
    module->large_by_memory = false;
    module->large_calls = 0;
    module->agreeing = false;
    module->wants_team = false;
    module->within_node = false;
    module->team = NULL;
    module->failed_at = 0;
    OBJ_CONSTRUCT(&module->live, opal_list_item_t);
}

static void release_team(coll_nezha_module_t *module)
{
    if (NULL != module->team) {
        nezha_team_destroy(module->team);
        module->team = NULL;
    }
    module->state = COLL_NEZHA_DECLINED;
}

static void release_incumbent(coll_nezha_incumbent_t *incumbent)
{
    mca_coll_base_module_t *modules_of_it[] = {incumbent->allreduce_module, incumbent->iallreduce_module,
                                               incumbent->allreduce_init_module, incumbent->barrier_module,
#define MODULE_OF(call, collective, ours) incumbent->call##_module,
                                               COLL_NEZHA_SIBLINGS(MODULE_OF)};
    for (size_t i = 0; i < sizeof modules_of_it / sizeof modules_of_it[0]; i++) {
        if (NULL != modules_of_it[i]) {
            OBJ_RELEASE(modules_of_it[i]);
        }
    }
}

static void module_destruct(coll_nezha_module_t *module)
{
    if (NULL != module->incumbent.allreduce_module) {
        pthread_mutex_lock(&lock);
        if (NULL != modules) {
            opal_list_remove_item(modules, &module->live);
        }
        pthread_mutex_unlock(&lock);
        coll_nezha_request_forget(module);
        release_team(module);
        release_incumbent(&module->incumbent);
        if (module->world) {
            coll_nezha_finalize_world_gone();
        }
    }
    OBJ_DESTRUCT(&module->live);
}

OBJ_CLASS_INSTANCE(coll_nezha_module_t, mca_coll_base_module_t, module_construct, module_destruct);

static bool remember(coll_nezha_module_t *module)
{
    pthread_mutex_lock(&lock);
    if (NULL == modules) {
        modules = OBJ_NEW(opal_list_t);
    }
    if (NULL != modules) {
        opal_list_append(modules, &module->live);
    }
    pthread_mutex_unlock(&lock);
    return NULL != modules;
}

/** Saves the incumbent of a call. What cannot be left to one is not taken. */
#define KEEP(module, comm, call)                                                                   \
    do {                                                                                           \
        if (NULL != (comm)->c_coll->coll_##call && NULL != (comm)->c_coll->coll_##call##_module) { \
            (module)->incumbent.call = (comm)->c_coll->coll_##call;                                \
            (module)->incumbent.call##_module = (comm)->c_coll->coll_##call##_module;              \
            OBJ_RETAIN((module)->incumbent.call##_module);                                         \
        } else {                                                                                   \
            (module)->super.coll_##call = NULL;                                                    \
        }                                                                                          \
    } while (0)

int coll_nezha_module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    if (NULL == comm->c_coll->coll_allreduce || NULL == comm->c_coll->coll_allreduce_module) {
        if (MPI_COMM_WORLD == comm) {
            coll_nezha_finalize_left(coll_nezha_outranked);
        }
        return OMPI_ERR_NOT_FOUND;
    }
    if (!remember(module)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    KEEP(module, comm, allreduce);
    KEEP(module, comm, iallreduce);
    KEEP(module, comm, allreduce_init);
    KEEP(module, comm, barrier);
#define KEEP_IF_REPLACED(call, collective, ours)  \
    if (NULL != module->super.coll_##call) {      \
        KEEP(module, comm, call);                 \
    }
    COLL_NEZHA_SIBLINGS(KEEP_IF_REPLACED)
    if (MPI_COMM_WORLD == comm) {
        module->world = true;
        coll_nezha_finalize_prepare(comm);
    }
    return OMPI_SUCCESS;
}

void coll_nezha_module_release_teams(void)
{
    pthread_mutex_lock(&lock);
    if (NULL != modules) {
        opal_list_item_t *item;
        while (NULL != (item = opal_list_remove_first(modules))) {
            release_team((coll_nezha_module_t *)((char *)item - offsetof(coll_nezha_module_t, live)));
        }
        OBJ_RELEASE(modules);
    }
    pthread_mutex_unlock(&lock);
}
