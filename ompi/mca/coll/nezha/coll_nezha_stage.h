/* SPDX-License-Identifier: BSD-3-Clause */
/** Memory of a call's own in place of vectors that the engine cannot use as they are: those in a device's memory, with gaps
 * between their elements, or with blocks elsewhere than one behind the other. */
#ifndef MCA_COLL_NEZHA_STAGE_H
#define MCA_COLL_NEZHA_STAGE_H

#include "coll_nezha_call.h"

/** Puts the sizes of blocks into the engine's words, and vectors that it can use as they are; others it is not given, so that
 * it asks for them. False: no memory. */
bool coll_nezha_stage_prepare(coll_nezha_call_t *call);
/** Of these: copies what this rank sends, and says in the engine's words where the vectors are then. False: it cannot be
 * done. */
bool coll_nezha_stage_in(coll_nezha_call_t *call);
/** After a call that has succeeded: copies its result to where it belongs, where stage_in() has been called and that is elsewhere.
 * False: it cannot be done. */
bool coll_nezha_stage_out(const coll_nezha_call_t *call);

#endif
