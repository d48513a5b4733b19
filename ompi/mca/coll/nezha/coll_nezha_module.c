/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's module: the incumbent that it keeps, and its end. */
#include "coll_nezha.h"

#include <pthread.h>

#include "ompi/constants.h"

#include "coll_nezha_finalize.h"
#include "coll_nezha_report.h"

/* Enabled modules, through their `live` item; `lock` guards the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static opal_list_t *modules;

static void module_construct(coll_nezha_module_t *module)
{
    module->incumbent = NULL;
    module->incumbent_module = NULL;
    module->state = COLL_NEZHA_NEW;
    module->team = NULL;
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

static void module_destruct(coll_nezha_module_t *module)
{
    if (NULL != module->incumbent_module) {
        pthread_mutex_lock(&lock);
        if (NULL != modules) {
            opal_list_remove_item(modules, &module->live);
        }
        pthread_mutex_unlock(&lock);
        release_team(module);
        OBJ_RELEASE(module->incumbent_module);
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

int coll_nezha_module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    coll_nezha_module_t *module = (coll_nezha_module_t *)base;
    mca_coll_base_module_allreduce_fn_t incumbent = comm->c_coll->coll_allreduce;
    mca_coll_base_module_t *incumbent_module = comm->c_coll->coll_allreduce_module;
    if (NULL == incumbent || NULL == incumbent_module) {
        if (MPI_COMM_WORLD == comm) {
            coll_nezha_finalize_left(coll_nezha_outranked);
        }
        return OMPI_ERR_NOT_FOUND;
    }
    if (!remember(module)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    OBJ_RETAIN(incumbent_module);
    module->incumbent = incumbent;
    module->incumbent_module = incumbent_module;
    if (MPI_COMM_WORLD == comm) {
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
