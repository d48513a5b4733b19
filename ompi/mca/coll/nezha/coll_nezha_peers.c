/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_peers.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_params.h"
#include "opal/nezha_modex.h"
#include "opal/nezha_topology.h"

static const char modex_key[] = "coll.nezha";

/** What is published: this, and then the engine's address, if there is an engine. */
typedef struct published {
    uint8_t format;
    uint8_t enabled, single_node, shared_memory, report, priority, collectives, collectives_large;
    uint8_t node[sizeof(uint32_t)];
} published_t;

enum { PUBLISHED_FORMAT = 6 };

typedef struct entry {
    coll_nezha_peer_t known;
    coll_nezha_presence_t presence;
} entry_t;

/* Entries by rank in the job; NULL: not asked yet. `lock` guards both. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t **entries;
static size_t entry_count;

/** FNV-1a of the node's name. */
static uint32_t node_number(void)
{
    uint32_t number = 2166136261u;
    for (const char *c = nezha_topology_node(); '\0' != *c; c++) {
        number = (number ^ (uint8_t)*c) * 16777619u;
    }
    return number;
}

static published_t own(void)
{
    const uint32_t node = node_number();
    return (published_t){.format = PUBLISHED_FORMAT,
                         .enabled = 1,
                         .single_node = coll_nezha_params_int("single_node") > 0,
                         .shared_memory = coll_nezha_params_bool("shared_memory"),
                         .report = coll_nezha_params_bool("report"),
                         .priority = (uint8_t)coll_nezha_params_int("priority"),
                         .collectives = (uint8_t)coll_nezha_params_collectives(),
                         .collectives_large = (uint8_t)coll_nezha_params_collectives_large(),
                         .node = {(uint8_t)node, (uint8_t)(node >> 8), (uint8_t)(node >> 16), (uint8_t)(node >> 24)}};
}

int coll_nezha_peers_publish(nezha_engine_t *engine)
{
    size_t size = 0;
    const void *address = NULL != engine ? nezha_engine_address(engine, &size) : NULL;
    char *data = malloc(sizeof(published_t) + size);
    if (NULL == data) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    published_t head = own();
    memcpy(data, &head, sizeof head);
    if (size > 0) {
        memcpy(data + sizeof head, address, size);
    }
    int rc = nezha_modex_publish(modex_key, data, sizeof head + size);
    free(data);
    return rc;
}

int coll_nezha_peers_publish_disabled(void)
{
    const published_t head = {.format = PUBLISHED_FORMAT};
    return nezha_modex_publish(modex_key, &head, sizeof head);
}

/** Fills `head` from what was published, and says what that makes of its process. */
static coll_nezha_presence_t presence_of(const char *data, size_t size, published_t *head)
{
    if (size < sizeof *head) {
        return 0 == size ? COLL_NEZHA_ABSENT : COLL_NEZHA_OTHER;
    }
    memcpy(head, data, sizeof *head);
    if (PUBLISHED_FORMAT != head->format) {
        return COLL_NEZHA_OTHER;
    }
    return head->enabled ? COLL_NEZHA_PRESENT : COLL_NEZHA_DISABLED;
}

/** Fills `entry` from what was published. */
static void understand(entry_t *entry, const ompi_proc_t *proc, bool self, const char *data, size_t size)
{
    published_t head;
    char why[256];
    entry->presence = presence_of(data, size, &head);
    if (COLL_NEZHA_PRESENT != entry->presence) {
        return;
    }
    entry->known.single_node = head.single_node;
    entry->known.shared_memory = head.shared_memory;
    entry->known.report = head.report;
    entry->known.priority = head.priority;
    entry->known.collectives = head.collectives;
    entry->known.collectives_large = head.collectives_large;
    entry->known.node = head.node[0] | (uint32_t)head.node[1] << 8 | (uint32_t)head.node[2] << 16 | (uint32_t)head.node[3] << 24;
    if (!self && size > sizeof head && NULL != coll_nezha_engine()) {
        entry->known.peer = nezha_engine_peer(coll_nezha_engine(), data + sizeof head, size - sizeof head,
                                              nezha_topology_same_node(&proc->super), why, sizeof why);
    }
}

static entry_t *ask(const ompi_proc_t *proc)
{
    entry_t *entry = calloc(1, sizeof *entry);
    if (NULL == entry) {
        return NULL;
    }
    if (proc->super.proc_name.vpid == nezha_topology_job_rank()) {
        published_t head = own();
        understand(entry, proc, true, (const char *)&head, sizeof head);
        return entry;
    }
    void *data = NULL;
    size_t size = 0;
    if (OMPI_SUCCESS == nezha_modex_read(modex_key, &proc->super.proc_name, &data, &size)) {
        understand(entry, proc, false, data, size);
    }
    free(data);
    return entry;
}

/** Makes room for an entry of job rank `rank`. */
static bool reach(size_t rank)
{
    if (rank < entry_count) {
        return true;
    }
    size_t count = entry_count < 16 ? 16 : entry_count;
    while (count <= rank) {
        count *= 2;
    }
    entry_t **grown = realloc(entries, count * sizeof *grown);
    if (NULL == grown) {
        return false;
    }
    memset(grown + entry_count, 0, (count - entry_count) * sizeof *grown);
    entries = grown;
    entry_count = count;
    return true;
}

const coll_nezha_peer_t *coll_nezha_peers_find(const ompi_proc_t *proc)
{
    size_t rank = proc->super.proc_name.vpid;
    entry_t *entry = NULL;
    pthread_mutex_lock(&lock);
    if (reach(rank)) {
        if (NULL == entries[rank]) {
            entries[rank] = ask(proc);
        }
        entry = entries[rank];
    }
    pthread_mutex_unlock(&lock);
    return NULL != entry && COLL_NEZHA_PRESENT == entry->presence ? &entry->known : NULL;
}

/** What an answer of an earlier question says of job rank `rank`. */
static coll_nezha_presence_t remembered(size_t rank)
{
    pthread_mutex_lock(&lock);
    coll_nezha_presence_t presence =
        rank < entry_count && NULL != entries[rank] ? entries[rank]->presence : COLL_NEZHA_UNKNOWN;
    pthread_mutex_unlock(&lock);
    return presence;
}

coll_nezha_presence_t coll_nezha_peers_look(const ompi_proc_t *proc)
{
    coll_nezha_presence_t presence = remembered(proc->super.proc_name.vpid);
    if (COLL_NEZHA_UNKNOWN != presence) {
        return presence;
    }
    if (proc->super.proc_name.vpid == nezha_topology_job_rank()) {
        return COLL_NEZHA_PRESENT;
    }
    published_t head;
    void *data = NULL;
    size_t size = 0;
    if (OMPI_SUCCESS == nezha_modex_look(modex_key, &proc->super.proc_name, &data, &size)) {
        presence = presence_of(data, size, &head);
    } else if (nezha_modex_complete()) {
        presence = COLL_NEZHA_ABSENT;
    }
    free(data);
    return presence;
}

coll_nezha_presence_t coll_nezha_peers_ask(const ompi_proc_t *proc)
{
    coll_nezha_peers_find(proc);
    return remembered(proc->super.proc_name.vpid);
}

void coll_nezha_peers_forget(void)
{
    for (size_t i = 0; i < entry_count; i++) {
        free(entries[i]);
    }
    free(entries);
    entries = NULL;
    entry_count = 0;
}
