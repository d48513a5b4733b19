/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's team: made at its first allreduce, agreed upon by small allreduces over the incumbent. */
#include "coll_nezha.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "ompi/constants.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_incumbent.h"
#include "coll_nezha_peers.h"
#include "opal/compat.h"
#include "opal/nezha_help.h"
#include "opal/nezha_topology.h"
#include "opal/nezha_transport.h"

/** Of a clock that counts whole ones: at least one passes. */
enum { REASON_SECONDS = 2 };

/** The engine's peers in rank order; false when one of them cannot take part, which only a vote tells the others. */
static bool find_peers(struct ompi_communicator_t *comm, nezha_peer_t **peers)
{
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        const coll_nezha_peer_t *found = coll_nezha_peers_find(ompi_comm_peer_lookup(comm, rank));
        peers[rank] = NULL != found ? found->peer : NULL;
        if (NULL == peers[rank] && rank != ompi_comm_rank(comm)) {
            return false;
        }
    }
    return true;
}

/** Once, and only when a communicator would have used the rails: a node without a network need not hear of it
 * otherwise. */
static void tell_trouble(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *trouble = coll_nezha_engine_trouble();
    if ('\0' != *trouble && !atomic_flag_test_and_set(&told)) {
        nezha_help_show("no rails", 2, (const char *[]){nezha_topology_node(), trouble});
    }
}

static nezha_team_t *make_team(const coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
    nezha_peer_t **peers = calloc((size_t)ompi_comm_size(comm), sizeof *peers);
    nezha_team_t *team = NULL;
    if (NULL != peers && NULL != coll_nezha_engine() && find_peers(comm, peers)) {
        const nezha_team_spec_t spec = {.name = comm->c_name,
                                        .size = ompi_comm_size(comm),
                                        .rank = ompi_comm_rank(comm),
                                        .peers = peers,
                                        .incumbent_on_rails = nezha_transport_is_tcp(),
                                        .within_node = module->within_node};
        team = nezha_team_create(coll_nezha_engine(), &spec);
    }
    free(peers);
    return team;
}

static coll_nezha_state_t state_of(nezha_team_state_t state)
{
    switch (state) {
        case NEZHA_TEAM_WIRING:
            return COLL_NEZHA_WIRING;
        case NEZHA_TEAM_READY:
            return COLL_NEZHA_READY;
        default:
            return COLL_NEZHA_DECLINED;
    }
}

/** One agreement. A rank without a team votes no, and then need not ask what was decided. */
static int agree_once(coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
    uint64_t words[NEZHA_VOTE_WORDS] = {0};
    if (NULL != module->team) {
        nezha_team_vote(module->team, words);
    } else {
        nezha_vote_no(words);
    }
    module->agreeing = true;
    int rc = COLL_NEZHA_CALL_INCUMBENT(module, comm, allreduce, MPI_IN_PLACE, words, NEZHA_VOTE_WORDS, MPI_UINT64_T, MPI_BOR,
                                       comm);
    module->agreeing = false;
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    module->state = NULL != module->team ? state_of(nezha_team_decide(module->team, words)) : COLL_NEZHA_DECLINED;
    if (COLL_NEZHA_READY == module->state && module->large_by_memory && !nezha_team_shares_memory(module->team)) {
        module->large = 0;
    }
    return OMPI_SUCCESS;
}

static int agree(coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
    int rc = agree_once(module, comm);
    while (OMPI_SUCCESS == rc && COLL_NEZHA_WIRING == module->state && nezha_team_vote_again(module->team)) {
        rc = agree_once(module, comm);
    }
    return rc;
}

int coll_nezha_team_settle(coll_nezha_module_t *module, struct ompi_communicator_t *comm, size_t bytes)
{
    if (COLL_NEZHA_READY == module->state || COLL_NEZHA_DECLINED == module->state || module->agreeing) {
        return OMPI_SUCCESS;
    }
    if (COLL_NEZHA_NEW == module->state) {
        if (!module->within_node) {
            tell_trouble();
        }
        module->team = make_team(module, comm);
        module->state = COLL_NEZHA_WIRING;
    }
    /* A rank without a team cannot ask when an agreement is due, but the first question of a team is always answered
     * yes. */
    if (NULL == module->team || nezha_team_agreement_due(module->team, bytes)) {
        return agree(module, comm);
    }
    return OMPI_SUCCESS;
}

bool coll_nezha_team_awaits_reason(coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
    if (!nezha_compat_tolerates_faults() || nezha_compat_is_revoked(comm) || nezha_compat_dead_rank(comm) >= 0) {
        return false;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long first = 0;
    if (atomic_compare_exchange_strong(&module->failed_at, &first, now.tv_sec)) {
        first = now.tv_sec;
    }
    return now.tv_sec - first < REASON_SECONDS;
}

int coll_nezha_team_failed(coll_nezha_module_t *module, struct ompi_communicator_t *comm, int status)
{
    char story[1024];
    while (NEZHA_ERR_MEMORY != status && coll_nezha_team_awaits_reason(module, comm)) {
        nezha_compat_progress();
    }
    if (!nezha_compat_is_revoked(comm)) { /* else the program knows: it is its own doing */
        nezha_team_error(module->team, story, sizeof story);
        nezha_help_show("operation failed", 3,
                        (const char *[]){comm->c_name, nezha_topology_node(), '\0' != *story ? story : "no details"});
    }
    return NEZHA_ERR_MEMORY == status ? OMPI_ERR_OUT_OF_RESOURCE : nezha_compat_failure(comm, OMPI_ERROR);
}
