/* SPDX-License-Identifier: BSD-3-Clause */
/** Memory of a call's own in place of vectors that the engine cannot use as they are: those in a device's memory, with gaps
 * between their elements, or with blocks elsewhere than one behind the other. */
#ifndef MCA_COLL_NEZHA_STAGE_H
#define MCA_COLL_NEZHA_STAGE_H

#include "coll_nezha_call.h"

/** As coll_nezha_call_stage_in() and coll_nezha_call_stage_out(), which call these. False: it cannot be done. */
bool coll_nezha_stage_in(coll_nezha_call_t *call);
/** Frees what stage_in() allocated. */
bool coll_nezha_stage_out(coll_nezha_call_t *call, int status);

#endif
