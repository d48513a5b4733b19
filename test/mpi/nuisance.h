/* SPDX-License-Identifier: BSD-3-Clause */
/* What an application, or the system around it, may do to a process while its calls go on. */
#ifndef NEZHA_TEST_NUISANCE_H
#define NEZHA_TEST_NUISANCE_H

#include <stdbool.h>

/// "none"; "signals": a thousand a second, with a handler that lets system calls be interrupted; "forks": a child at each
/// call; "descriptors": there are none left; "memory": the system gives none any more. False: no such word.
bool nuisance_begin(const char* kind);
/// Between two calls.
void nuisance_between_calls(void);
/// Descriptors and memory are to be had again. Complains if the nuisance was none.
void nuisance_end(void);

#endif
