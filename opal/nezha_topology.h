/* SPDX-License-Identifier: BSD-3-Clause */
/** Where this process is: in its job, and on which node. */
#ifndef NEZHA_OPAL_TOPOLOGY_H
#define NEZHA_OPAL_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "ompi_config.h"

#include "opal/util/proc.h"

/** The node's name, for texts. */
const char *nezha_topology_node(void);

/** The name of the node that `proc` runs on, for texts. */
const char *nezha_topology_node_of(const opal_proc_t *proc);

/** This process's rank in its job. */
uint32_t nezha_topology_job_rank(void);

/** How many ranks of its job its node has, itself included. */
uint32_t nezha_topology_local_ranks(void);

/** Whether `name` is of the job of this process. */
bool nezha_topology_same_job(const opal_process_name_t *name);

/** Whether `proc` runs on this process's node. */
bool nezha_topology_same_node(const opal_proc_t *proc);

#endif
