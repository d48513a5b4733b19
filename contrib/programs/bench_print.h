/* SPDX-License-Identifier: BSD-3-Clause */
/// What the bench programs print on rank 0: osu_allreduce's table, or one JSON object per line.
#ifndef NEZHA_BENCH_PRINT_H
#define NEZHA_BENCH_PRINT_H

#include "bench_options.h"
#include "bench_run.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What was there to carry the calls. `library` is text for people; `detail` is null or JSON members (`"a":1`) that
/// the first object shall have.
void bench_print_header(const struct bench_options* options, const char* title, const char* library, int ranks,
                        const char* detail);

/// `detail` as above, for this size's object; the table leaves it out.
void bench_print_result(const struct bench_options* options, const struct bench_result* result, const char* detail);

#ifdef __cplusplus
}
#endif
#endif
