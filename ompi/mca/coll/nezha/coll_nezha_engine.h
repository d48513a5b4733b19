/* SPDX-License-Identifier: BSD-3-Clause */
/** This process's one engine, and what the engine asks of its host. */
#ifndef MCA_COLL_NEZHA_ENGINE_H
#define MCA_COLL_NEZHA_ENGINE_H

#include "nezha/nezha.h"

/** Creates the engine and publishes its address. Success also when there is no engine or it has no rail: this rank then
 * votes no wherever it is asked, because the others must hear of it. Returns an OMPI code. */
int coll_nezha_engine_open(void);

/** Frees the engine. No team may be left. */
void coll_nezha_engine_close(void);

/** NULL when memory was refused, after close, and in a forked child. */
nezha_engine_t *coll_nezha_engine(void);

/** How many calls rails have carried; 0 without an engine. */
uint64_t coll_nezha_engine_calls(void);

/** Why this process has no usable rail; empty when it has. */
const char *coll_nezha_engine_trouble(void);

#endif
