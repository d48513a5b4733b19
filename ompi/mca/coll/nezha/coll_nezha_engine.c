/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_engine.h"

#include <pthread.h>

#include "mpi.h"
#include "ompi/constants.h"

#include "coll_nezha_params.h"
#include "coll_nezha_peers.h"
#include "coll_nezha_reduce.h"
#include "coll_nezha_revoked.h"
#include "opal/compat.h"
#include "opal/nezha_btl.h"
#include "opal/nezha_help.h"
#include "opal/nezha_memory.h"
#include "opal/nezha_output.h"
#include "opal/nezha_progress.h"
#include "opal/nezha_topology.h"

static nezha_engine_t *engine;
static char trouble[1024];

static void host_log(void *ctx, int level, const char *line)
{
    (void)ctx;
    (void)level;
    nezha_output_line(line);
}

static void host_help(void *ctx, const char *topic, int nargs, const char *const *args)
{
    (void)ctx;
    nezha_help_show(topic, nargs, args);
}

static int host_progress(void *ctx)
{
    (void)ctx;
    const int events = nezha_progress();
    coll_nezha_revoked_look();
    return events;
}

static int host_send(void *ctx, unsigned module, uint32_t job_rank, const void *head, size_t head_size, const void *body,
                     size_t body_size)
{
    (void)ctx;
    return nezha_btl_send(module, job_rank, head, head_size, body, body_size);
}

static void take_message(const nezha_bytes_t *pieces, size_t count)
{
    nezha_engine_t *const receiver = engine;
    if (NULL != receiver) {
        nezha_engine_message(receiver, pieces, count);
    }
}

static int progress_rails(void)
{
    return NULL != engine ? nezha_engine_progress(engine) : 0;
}

/** A child of fork() has none of our threads and must leave the parent's connections alone. */
static void forget_after_fork(void)
{
    if (NULL != engine) {
        nezha_engine_abandon(engine);
        engine = NULL;
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_after_fork);
}

static void watch_memory(void)
{
    if (nezha_memory_watch(nezha_memory_unmapped)) {
        nezha_memory_watched(1);
    } else {
        nezha_output_line("coll_nezha_zero_copy has no effect: Open MPI does not hear of memory that is freed");
    }
}

int coll_nezha_engine_open(void)
{
    static pthread_once_t forks = PTHREAD_ONCE_INIT;
    const nezha_host_t host = {.log = host_log, .help = host_help, .progress = host_progress, .reduce = coll_nezha_reduce,
                                .send = host_send, .bring = coll_nezha_call_bring, .deliver = coll_nezha_call_deliver};
    const nezha_self_t self = {.job_rank = nezha_topology_job_rank(),
                                .node_name = nezha_topology_node(),
                                .local_ranks = nezha_topology_local_ranks(),
                                .job_ranks = (uint32_t)ompi_proc_world_size()};
    nezha_config_t *config = coll_nezha_params_config();
    trouble[0] = '\0';
    if (NULL != config) {
        nezha_engine_create(config, &host, &self, &engine, trouble, sizeof trouble);
    }
    nezha_config_destroy(config);
    if (NULL != engine && nezha_engine_host_carries(engine) && nezha_btl_open(take_message)) {
        opal_progress_register(progress_rails);
    }
    if (NULL != engine && nezha_engine_lends(engine)) {
        watch_memory();
    }
    pthread_once(&forks, watch_forks);
    return coll_nezha_peers_publish(engine);
}

void coll_nezha_engine_close(void)
{
    opal_progress_unregister(progress_rails);
    nezha_btl_close();
    nezha_memory_watched(0);
    nezha_memory_unwatch();
    if (NULL != engine) {
        nezha_engine_destroy(engine);
        engine = NULL;
    }
}

nezha_engine_t *coll_nezha_engine(void)
{
    return engine;
}

uint64_t coll_nezha_engine_calls(void)
{
    uint64_t calls = 0, bytes = 0;
    if (NULL != coll_nezha_engine()) {
        nezha_engine_totals(coll_nezha_engine(), &calls, &bytes);
    }
    return calls;
}

const char *coll_nezha_engine_trouble(void)
{
    return trouble;
}
