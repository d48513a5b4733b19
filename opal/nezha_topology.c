/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/nezha_topology.h"

#include "opal/mca/hwloc/base/base.h"

const char *nezha_topology_node(void)
{
    return NULL != opal_process_info.nodename ? opal_process_info.nodename : "?";
}

const char *nezha_topology_node_of(const opal_proc_t *proc)
{
    const char *name = opal_get_proc_hostname(proc);
    return NULL != name ? name : "?";
}

uint32_t nezha_topology_job_rank(void)
{
    return (uint32_t)OPAL_PROC_MY_NAME.vpid;
}

uint32_t nezha_topology_local_ranks(void)
{
    return 1 + (uint32_t)opal_process_info.num_local_peers;
}

bool nezha_topology_same_job(const opal_process_name_t *name)
{
    return name->jobid == OPAL_PROC_MY_NAME.jobid;
}

bool nezha_topology_same_node(const opal_proc_t *proc)
{
    return OPAL_PROC_ON_LOCAL_NODE(proc->proc_flags);
}
