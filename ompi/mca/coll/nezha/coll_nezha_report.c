/* SPDX-License-Identifier: BSD-3-Clause */
/* The report's tables. What they hold comes from coll_nezha_gather.c. */
#include "coll_nezha_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "coll_nezha_engine.h"
#include "coll_nezha_gather.h"
#include "opal/nezha_topology.h"

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
        print_rail(out, "", "least", &all->least[i]);
        print_rail(out, "", "most", &all->most[i]);
    }
}

static void print_size(FILE *out, int size_class)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = size_class / 10;
    fprintf(out, "  from %4llu %-3s", 1ull << (size_class % 10), units[unit]);
}

static void print_classes(FILE *out)
{
    nezha_class_stats_t stats[NEZHA_SIZE_CLASSES] = {{0, 0, 0}};
    if (NULL != coll_nezha_engine()) {
        nezha_engine_class_stats(coll_nezha_engine(), stats);
    }
    fprintf(out, "  %-13s %10s %14s %12s %12s\n", "size", "calls", "MiB", "time s", "MiB/s");
    for (int i = 0; i < NEZHA_SIZE_CLASSES; i++) {
        if (stats[i].calls > 0) {
            double seconds = (double)stats[i].time_ns / 1e9, size = (double)stats[i].bytes / mebi;
            print_size(out, i);
            fprintf(out, "%11llu %14.3f %12.6f %12.1f\n", (unsigned long long)stats[i].calls, size, seconds,
                    seconds > 0 ? size / seconds : 0.0);
        }
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
    FILE *out = open_memstream(&text, &length);
    if (NULL != out) {
        fprintf(out, "Nezha's report: %d ranks, rank 0 on %s\n", ompi_comm_size(MPI_COMM_WORLD), nezha_topology_node());
        print_rails(out, &all);
        print_classes(out);
        fclose(out);
        fwrite(text, 1, length, stderr);
        free(text);
    }
}
