/* SPDX-License-Identifier: BSD-3-Clause */
/** What each process of the job published about itself, read once. */
#ifndef MCA_COLL_NEZHA_PEERS_H
#define MCA_COLL_NEZHA_PEERS_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>

#include "ompi/proc/proc.h"

#include "nezha/nezha.h"

/** A process that has the component. What all ranks must decide alike is decided from these values, not from the rank's
 * own parameters. */
typedef struct coll_nezha_peer {
    bool single_node;   /* for tests: its rails are among the ranks of one node */
    bool shared_memory; /* wants ranks of a node to share memory */
    bool report;        /* was asked for a report */
    int priority;
    unsigned collectives;       /* that rails are to carry: bit 1 << nezha_collective_t for each */
    unsigned collectives_large; /* see nezha_config_collectives_large() */
    uint32_t node;              /* alike for processes of one node; may also be alike for two nodes, hardly ever */
    nezha_peer_t *peer; /* NULL: this process itself, or one whose engine failed or cannot be understood */
} coll_nezha_peer_t;

/** What is known of a process of this job. */
typedef enum coll_nezha_presence {
    COLL_NEZHA_ABSENT,   /* published nothing: has no component, or leaves it out */
    COLL_NEZHA_DISABLED, /* has the component, and coll_nezha_enable 0 */
    COLL_NEZHA_OTHER,    /* has a component that publishes in another form: of another version */
    COLL_NEZHA_PRESENT,
    COLL_NEZHA_UNKNOWN   /* finding out would take a lookup that may wait */
} coll_nezha_presence_t;

/** Publishes that this process has the component and does not use it. Returns an OMPI code. */
int coll_nezha_peers_publish_disabled(void);

/** Publishes this process's parameters and, unless `engine` is NULL, the engine's address. Returns an OMPI code. */
int coll_nezha_peers_publish(nezha_engine_t *engine);

/** What `proc`, of this job, published. NULL when it does not take part: has no such component, or does not use it. Any thread. The first question about a
 *  process may wait for it to get through its own start. Valid until coll_nezha_peers_forget. */
const coll_nezha_peer_t *coll_nezha_peers_find(const ompi_proc_t *proc);

/** What is known of `proc`, of this job, without a lookup that may wait. Any thread. */
coll_nezha_presence_t coll_nezha_peers_look(const ompi_proc_t *proc);

/** The same by a lookup that waits, for some two seconds where there is no component. Never unknown, unless memory is short. Any thread. */
coll_nezha_presence_t coll_nezha_peers_ask(const ompi_proc_t *proc);

void coll_nezha_peers_forget(void);

#endif
