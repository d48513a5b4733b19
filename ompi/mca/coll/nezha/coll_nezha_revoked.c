/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_revoked.h"

#include <pthread.h>
#include <stdio.h>

#include "opal/util/proc.h"

#include "opal/compat.h"

/* Guards the list. May be held while the engine's lock is waited for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static coll_nezha_call_t *first;

void coll_nezha_revoked_watch(coll_nezha_call_t *call)
{
    if (!nezha_compat_tolerates_faults()) {
        return;
    }
    pthread_mutex_lock(&lock);
    call->watched = true;
    call->before = NULL;
    call->after = first;
    if (NULL != first) {
        first->before = call;
    }
    first = call;
    pthread_mutex_unlock(&lock);
}

void coll_nezha_revoked_forget(coll_nezha_call_t *call)
{
    if (!call->watched) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (NULL != call->after) {
        call->after->before = call->before;
    }
    if (NULL != call->before) {
        call->before->after = call->after;
    } else {
        first = call->after;
    }
    call->watched = false;
    pthread_mutex_unlock(&lock);
}

static void look_at(const coll_nezha_call_t *call)
{
    struct ompi_communicator_t *comm = call->reduction.comm;
    const int dead = nezha_compat_dead_rank(comm);
    if (nezha_compat_is_revoked(comm)) {
        nezha_team_give_up(call->team, "the communicator was revoked");
    } else if (dead >= 0) {
        char why[512];
        const char *node = opal_get_proc_hostname(&ompi_comm_peer_lookup(comm, dead)->super);
        snprintf(why, sizeof why, "rank %d on %s has died, as Open MPI says", dead, NULL != node ? node : "its node");
        nezha_team_give_up(call->team, why);
    }
}

void coll_nezha_revoked_look(void)
{
    if (!nezha_compat_tolerates_faults() || 0 != pthread_mutex_trylock(&lock)) {
        return; /* another thread looks */
    }
    for (const coll_nezha_call_t *call = first; NULL != call; call = call->after) {
        look_at(call);
    }
    pthread_mutex_unlock(&lock);
}
