/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_pvars.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "mpi.h"
#include "ompi/constants.h"
#include "opal/mca/base/mca_base_pvar.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_gather.h"

typedef struct rail_value {
    const char *name, *help;
    unsigned long long (*of)(const nezha_rail_stats_t *stats);
} rail_value_t;

static unsigned long long bytes_sent(const nezha_rail_stats_t *stats)
{
    return stats->bytes_sent;
}
static unsigned long long bytes_received(const nezha_rail_stats_t *stats)
{
    return stats->bytes_received;
}
static unsigned long long frames_sent(const nezha_rail_stats_t *stats)
{
    return stats->frames_sent;
}
static unsigned long long frames_received(const nezha_rail_stats_t *stats)
{
    return stats->frames_received;
}
static unsigned long long retransmissions(const nezha_rail_stats_t *stats)
{
    return stats->retransmissions;
}
static unsigned long long busy(const nezha_rail_stats_t *stats)
{
    return stats->busy_ns;
}
static unsigned long long share(const nezha_rail_stats_t *stats)
{
    return stats->share;
}
static unsigned long long suspicions(const nezha_rail_stats_t *stats)
{
    return stats->suspicions;
}
static unsigned long long failovers(const nezha_rail_stats_t *stats)
{
    return stats->failovers;
}
static unsigned long long reconnections(const nezha_rail_stats_t *stats)
{
    return stats->reconnections;
}

static const rail_value_t rail_values[] = {
    {"bytes_sent", "Payload bytes sent over each rail", bytes_sent},
    {"bytes_received", "Payload bytes received over each rail", bytes_received},
    {"frames_sent", "Frames sent over each rail", frames_sent},
    {"frames_received", "Frames received over each rail", frames_received},
    {"retransmissions", "Pieces that each rail was given again", retransmissions},
    {"busy", "Nanoseconds with bytes handed to the rail and not yet acknowledged, of each rail", busy},
    {"share", "Part of all bytes sent that each rail carried, in 1/65536ths", share},
    {"suspicions", "Lanes of each rail that did not answer for longer than expected, while another to that peer did",
     suspicions},
    {"failovers", "Times that unacknowledged pieces of a lane of each rail were given to other lanes", failovers},
    {"reconnections", "Lanes of each rail that came back after they were lost", reconnections},
};

static int get_calls(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    *(unsigned long long *)value = coll_nezha_engine_calls();
    return OMPI_SUCCESS;
}

static int get_bytes(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    uint64_t calls = 0, bytes = 0;
    if (NULL != coll_nezha_engine()) {
        nezha_engine_totals(coll_nezha_engine(), &calls, &bytes);
    }
    *(unsigned long long *)value = bytes;
    return OMPI_SUCCESS;
}

static int get_aggregated(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)pvar;
    (void)object;
    nezha_class_stats_t stats[NEZHA_SIZE_CLASSES] = {{0, 0, 0, 0}};
    if (NULL != coll_nezha_engine()) {
        nezha_engine_class_stats(coll_nezha_engine(), stats);
    }
    unsigned long long bytes = 0;
    for (int i = 0; i < NEZHA_SIZE_CLASSES; i++) {
        bytes += stats[i].aggregated;
    }
    *(unsigned long long *)value = bytes;
    return OMPI_SUCCESS;
}

typedef struct memory_value {
    const char *name, *help;
    size_t at; /* in nezha_memory_stats_t */
} memory_value_t;

static const memory_value_t memory_values[] = {
    {"calls", "Collective calls that went through the memory that ranks of this node share", offsetof(nezha_memory_stats_t, calls)},
    {"bytes", "Bytes of the vectors of those", offsetof(nezha_memory_stats_t, bytes)},
    {"time", "Nanoseconds that those took", offsetof(nezha_memory_stats_t, time_ns)},
    {"copying_in", "Nanoseconds of it in copies of the own vector into the memory", offsetof(nezha_memory_stats_t, copied_in_ns)},
    {"reducing", "Nanoseconds of it in reducing the own slices", offsetof(nezha_memory_stats_t, reduced_ns)},
    {"gathering", "Nanoseconds of it in copies of what goes to other nodes", offsetof(nezha_memory_stats_t, gathered_ns)},
    {"between", "Nanoseconds of it with sums under way between nodes", offsetof(nezha_memory_stats_t, between_ns)},
    {"sharing", "Nanoseconds of it in copies of the result", offsetof(nezha_memory_stats_t, shared_ns)},
};

static int get_memory(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)object;
    const memory_value_t *wanted = pvar->ctx;
    nezha_memory_stats_t stats = {0};
    if (NULL != coll_nezha_engine()) {
        nezha_engine_memory_stats(coll_nezha_engine(), &stats);
    }
    *(unsigned long long *)value = *(const uint64_t *)((const char *)&stats + wanted->at);
    return OMPI_SUCCESS;
}

static size_t rail_count(void)
{
    return NULL != coll_nezha_engine() ? nezha_engine_rails(coll_nezha_engine()) : 0;
}

/** Readers have room for as many values as their handle was bound with; nobody tells us which handle it is. So the first
 * to be bound decides for all, and rails that appear later are not shown. Before MPI_Init nobody knows how many there will be: then
 * it is as many as a report shows, and the values behind the last rail's are 0. To refuse the handle would crash Open MPI. */
static size_t shown_rails;
static bool bound;

static int get_rails(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void)object;
    const rail_value_t *wanted = pvar->ctx;
    unsigned long long *values = value;
    for (size_t i = 0; i < shown_rails; i++) {
        nezha_rail_stats_t stats;
        values[i] = i < rail_count() && 0 == nezha_engine_rail_stats(coll_nezha_engine(), i, &stats) ? wanted->of(&stats) : 0;
    }
    return OMPI_SUCCESS;
}

static int bind_rails(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *object, int *count)
{
    (void)pvar;
    (void)object;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        if (!bound) {
            shown_rails = NULL != coll_nezha_engine() ? rail_count() : COLL_NEZHA_REPORTED_RAILS;
            bound = true;
        }
        *count = (int)shown_rails;
    }
    return OMPI_SUCCESS;
}

static int add(const mca_base_component_t *component, const char *name, const char *help, mca_base_get_value_fn_t get,
               mca_base_notify_fn_t notify, const void *ctx)
{
    /* Class SIZE: totals of class COUNTER read as 0 through a handle that was never started. */
    int index = mca_base_component_pvar_register(
        component, name, help, OPAL_INFO_LVL_4, MPI_T_PVAR_CLASS_SIZE, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, get, NULL, notify,
        (void *)ctx);
    return index < 0 ? index : OMPI_SUCCESS;
}

int coll_nezha_pvars_register(const mca_base_component_t *component)
{
    int rc = add(component, "calls", "Collective calls that the rails carried", get_calls, NULL, NULL);
    if (OMPI_SUCCESS == rc) {
        rc = add(component, "bytes", "Bytes of the vectors that the rails carried", get_bytes, NULL, NULL);
    }
    if (OMPI_SUCCESS == rc) {
        rc = add(component, "aggregated_bytes", "Bytes of these that went through aggregators or SHARP", get_aggregated, NULL, NULL);
    }
    for (size_t i = 0; OMPI_SUCCESS == rc && i < sizeof memory_values / sizeof memory_values[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "memory_%s", memory_values[i].name);
        rc = add(component, name, memory_values[i].help, get_memory, NULL, &memory_values[i]);
    }
    for (size_t i = 0; OMPI_SUCCESS == rc && i < sizeof rail_values / sizeof rail_values[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "rail_%s", rail_values[i].name);
        rc = add(component, name, rail_values[i].help, get_rails, bind_rails, &rail_values[i]);
    }
    return rc;
}
