/* SPDX-License-Identifier: BSD-3-Clause */
/* The report's tables. What they hold comes from coll_nezha_gather.c. */
#include "coll_nezha_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_nezha_engine.h"
#include "coll_nezha_gather.h"
#include "coll_nezha_params.h"
#include "opal/nezha_topology.h"

const char coll_nezha_outranked[] = "a component of higher priority carries allreduce (see coll_nezha_priority)";

static const double mebi = 1024.0 * 1024.0;

static void print_rail(FILE *out, const char *rail, const char *whose, const coll_nezha_rail_row_t *row)
{
    fprintf(out, "  %-20s %-7s %12.1f %12.1f %10llu %10llu %8llu %9.3f %7.1f %8llu %8llu %8llu\n", rail, whose,
            (double)row->value[COLL_NEZHA_SENT] / mebi, (double)row->value[COLL_NEZHA_RECEIVED] / mebi,
            (unsigned long long)row->value[COLL_NEZHA_FRAMES_SENT],
            (unsigned long long)row->value[COLL_NEZHA_FRAMES_RECEIVED],
            (unsigned long long)row->value[COLL_NEZHA_AGAIN], (double)row->value[COLL_NEZHA_BUSY] / 1e9,
            (double)row->value[COLL_NEZHA_SHARE] * 100.0 / 65536.0,
            (unsigned long long)row->value[COLL_NEZHA_SUSPICIONS], (unsigned long long)row->value[COLL_NEZHA_FAILOVERS],
            (unsigned long long)row->value[COLL_NEZHA_RECONNECTIONS]);
}

static void print_rails(FILE *out, const coll_nezha_gathered_t *all)
{
    fprintf(out, "  %-20s %-7s %12s %12s %10s %10s %8s %9s %7s %8s %8s %8s\n", "rail", "", "sent MiB", "recv MiB", "frames",
            "frames in", "again", "busy s", "share %", "suspect", "failover", "back");
    for (size_t i = 0; i < all->rails; i++) {
        print_rail(out, all->names[i], "rank 0", &all->own[i]);
        if (!all->alone) {
            print_rail(out, "", "least", &all->least[i]);
            print_rail(out, "", "most", &all->most[i]);
        }
    }
}

/** Says which rails of rank 0 have their NICs on one PCIe device. */
static void print_shared_devices(FILE *out, const coll_nezha_gathered_t *all)
{
    nezha_rail_nic_t nic[COLL_NEZHA_REPORTED_RAILS] = {{"", 0}};
    for (size_t i = 0; i < all->rails; i++) {
        nezha_engine_rail_nic(coll_nezha_engine(), i, &nic[i]);
    }
    for (size_t i = 0; i < all->rails; i++) {
        bool shared = false;
        for (size_t j = i + 1; '\0' != nic[i].pci_device[0] && j < all->rails; j++) {
            if (0 == strcmp(nic[i].pci_device, nic[j].pci_device)) {
                if (!shared) {
                    fprintf(out, "  share PCIe device %s: %s", nic[i].pci_device, all->names[i]);
                }
                fprintf(out, ", %s", all->names[j]);
                shared = true;
                nic[j].pci_device[0] = '\0';
            }
        }
        if (shared) {
            fprintf(out, "\n");
        }
    }
}

static void print_memory_row(FILE *out, const char *whose, const coll_nezha_memory_row_t *row)
{
    fprintf(out, "  %-20s %-7s %12llu %12.1f", "", whose, (unsigned long long)row->value[COLL_NEZHA_MEMORY_CALLS],
            (double)row->value[COLL_NEZHA_MEMORY_BYTES] / mebi);
    for (int i = COLL_NEZHA_MEMORY_TIME; i < COLL_NEZHA_MEMORY_VALUES; i++) {
        fprintf(out, " %10.3f", (double)row->value[i] / 1e9);
    }
    fprintf(out, "\n");
}

static void print_memory(FILE *out, const coll_nezha_gathered_t *all)
{
    if (0 == all->memory_most.value[COLL_NEZHA_MEMORY_CALLS]) {
        return;
    }
    fprintf(out, "  %-28s %12s %12s %10s %10s %10s %10s %10s %10s\n", "memory of the node", "calls", "MiB", "time s",
            "copy in s", "reduce s", "gather s", "between s", "share s");
    print_memory_row(out, "rank 0", &all->memory_own);
    if (!all->alone) {
        print_memory_row(out, "least", &all->memory_least);
        print_memory_row(out, "most", &all->memory_most);
    }
}

static void print_size(FILE *out, int size_class)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = size_class / 10;
    fprintf(out, "  from %4llu %-3s", 1ull << (size_class % 10), units[unit]);
}

static void get_classes(nezha_class_stats_t *stats)
{
    memset(stats, 0, NEZHA_SIZE_CLASSES * sizeof *stats);
    if (NULL != coll_nezha_engine()) {
        nezha_engine_class_stats(coll_nezha_engine(), stats);
    }
}

static bool any_aggregated(const nezha_class_stats_t *stats)
{
    for (int i = 0; i < NEZHA_SIZE_CLASSES; i++) {
        if (stats[i].aggregated > 0) {
            return true;
        }
    }
    return false;
}

/** Those who name aggregators look for them in the table of sizes. */
static void print_unused_aggregators(FILE *out, const coll_nezha_gathered_t *all, const nezha_class_stats_t *stats)
{
    if (0 == all->memory_most.value[COLL_NEZHA_MEMORY_CALLS] || any_aggregated(stats)) {
        return;
    }
    if (coll_nezha_params_bool("sharp")) {
        fprintf(out, "  Nothing went through SHARP: communicators of which ranks share a node do not use it\n");
    } else if (coll_nezha_params_given("aggregators")) {
        fprintf(out, "  Nothing went through aggregators: none was reached, the rails were faster, or too little was to go: where\n"
                     "  ranks share a node, each one that carries a part of an allreduce between nodes has to have 512 KiB of it\n");
    }
}

static void print_classes(FILE *out, const nezha_class_stats_t *stats)
{
    const bool aggregated = any_aggregated(stats);
    fprintf(out, "  %-13s %10s %14s %12s %12s%s\n", "size", "calls", "MiB", "time s", "MiB/s", aggregated ? "  aggregator %" : "");
    for (int i = 0; i < NEZHA_SIZE_CLASSES; i++) {
        if (stats[i].calls > 0) {
            double seconds = (double)stats[i].time_ns / 1e9, size = (double)stats[i].bytes / mebi;
            print_size(out, i);
            fprintf(out, "%11llu %14.3f %12.6f %12.1f", (unsigned long long)stats[i].calls, size, seconds,
                    seconds > 0 ? size / seconds : 0.0);
            if (aggregated) {
                fprintf(out, " %13.1f", 100.0 * (double)stats[i].aggregated / (double)stats[i].bytes);
            }
            fprintf(out, "\n");
        }
    }
}

/** Who is waited for: the time of all ranks in the calls of the sizes above. */
static void print_times(FILE *out, const coll_nezha_gathered_t *all)
{
    bool begun = false;
    for (int i = 0; i < NEZHA_SIZE_CLASSES; i++) {
        const coll_nezha_class_times_t *times = &all->times[i];
        if (times->ranks > 0) {
            if (!begun) {
                fprintf(out, "  %-13s %10s %12s %6s %12s %12s %6s\n", "time of ranks", "ranks", "least s", "rank", "median s", "most s", "rank");
            }
            begun = true;
            print_size(out, i);
            fprintf(out, "%11d %12.6f %6d %12.6f %12.6f %6d\n", times->ranks, (double)times->least / 1e9, times->least_rank,
                    (double)times->median / 1e9, (double)times->most / 1e9, times->most_rank);
        }
    }
}

/** Why rails have carried no call over MPI_COMM_WORLD. */
static const char *why_nothing(void)
{
    const mca_coll_base_comm_coll_t *functions = MPI_COMM_WORLD->c_coll;
    if (coll_nezha_allreduce != functions->coll_allreduce) {
        return coll_nezha_outranked;
    }
    const coll_nezha_module_t *module = (const coll_nezha_module_t *)functions->coll_allreduce_module;
    if (module->within_node) {
        return COLL_NEZHA_DECLINED != module->state
                   ? "all ranks are on one node, whose memory they share"
                   : "all ranks are on one node, but share no memory (coll_nezha_verbose 1 tells why): Open MPI's own allreduce is used";
    }
    switch (module->state) {
        case COLL_NEZHA_NEW:
            return "the program made none over MPI_COMM_WORLD that rails can carry";
        case COLL_NEZHA_WIRING:
            return "the program made too few; they run on Open MPI's own allreduce while lanes come up";
        case COLL_NEZHA_READY:
            return "all were left to Open MPI's own allreduce (by coll_nezha_algorithm, coll_nezha_threshold or what was measured)";
        default:
            break;
    }
    const char *trouble = coll_nezha_engine_trouble();
    return '\0' != *trouble ? trouble : "a rank has no usable rail, or two ranks cannot reach each other; a text above tells which";
}

static void print_head(FILE *out)
{
    fprintf(out, "Nezha's report: %d ranks, rank 0 on %s\n", ompi_comm_size(MPI_COMM_WORLD), nezha_topology_node());
}

static void print_nothing(FILE *out, const char *reason)
{
    fprintf(out, "  Rails carried no call: %s\n", reason);
}

void coll_nezha_report_left(const char *reason)
{
    print_head(stderr);
    if (0 == coll_nezha_engine_calls()) {
        print_nothing(stderr, reason);
    } else {
        fprintf(stderr, "  Open MPI carried the calls over MPI_COMM_WORLD: %s\n  Rank 0's over other communicators:\n", reason);
        nezha_class_stats_t stats[NEZHA_SIZE_CLASSES];
        get_classes(stats);
        print_classes(stderr, stats);
    }
}

void coll_nezha_report_print(void)
{
    coll_nezha_gathered_t all;
    if (!coll_nezha_gather(&all)) {
        return;
    }
    char *text = NULL;
    size_t length = 0;
    nezha_class_stats_t stats[NEZHA_SIZE_CLASSES];
    get_classes(stats);
    FILE *out = open_memstream(&text, &length);
    if (NULL != out) {
        print_head(out);
        if (all.alone) {
            fprintf(out, "  Of rank 0 alone: in a job that goes on after failures (--with-ft) no other rank is asked\n");
        }
        if (all.rails > 0) {
            print_rails(out, &all);
            print_shared_devices(out, &all);
            print_classes(out, stats);
            print_times(out, &all);
        }
        print_memory(out, &all);
        print_unused_aggregators(out, &all, stats);
        if (0 == coll_nezha_engine_calls()) {
            print_nothing(out, why_nothing());
        }
        fclose(out);
        fwrite(text, 1, length, stderr);
        free(text);
    }
}
