/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Calls that are in the engine, in programs that go on after the death of a process. A rank that revokes a
 * communicator, or whose call Open MPI has refused, lives on and does not come to the others' call. The engine gives up
 * silent ranks only, so it would wait for that rank for ever.
 */
#ifndef MCA_COLL_NEZHA_REVOKED_H
#define MCA_COLL_NEZHA_REVOKED_H

#include "coll_nezha_call.h"

/** A call that has its team. Until it is forgotten that stays, and the call where it is. */
void coll_nezha_revoked_watch(coll_nezha_call_t *call);
/** Also of one that is not watched. */
void coll_nezha_revoked_forget(coll_nezha_call_t *call);

/** Gives up the teams of watched calls that cannot succeed any more. Without the engine's lock. */
void coll_nezha_revoked_look(void);

#endif
