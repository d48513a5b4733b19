/* SPDX-License-Identifier: BSD-3-Clause */
/** Help texts: the topics of help-coll-nezha.txt, shown once per job by Open MPI's aggregation. */
#ifndef NEZHA_OPAL_HELP_H
#define NEZHA_OPAL_HELP_H

enum { NEZHA_HELP_ARGS = 8 };

/** Tells Open MPI where the texts are: where they were installed, and beside the component itself (a component that was
 *  copied elsewhere, or is still in its build tree). Once, before the first text. */
void nezha_help_init(void);

/** Shows `topic` with `nargs` strings, at most NEZHA_HELP_ARGS. Not from a component's close (4.1 has no texts by
 * then). */
void nezha_help_show(const char *topic, int nargs, const char *const *args);

#endif
