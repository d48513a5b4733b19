/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Calls of incumbents that block.
 *
 * An incumbent may find in its first call that it cannot serve the communicator. Open MPI's HAN then puts what it has
 * replaced itself into the communicator's table, for all calls where the table has HAN's module, and calls what the
 * table has. While HAN runs, the table is therefore as it would be without Nezha.
 */
#ifndef MCA_COLL_NEZHA_INCUMBENT_H
#define MCA_COLL_NEZHA_INCUMBENT_H

#include "coll_nezha.h"

/** Whether the table of `comm` has the incumbents from here on, and `module` has what was there, since `theirs` needs
 * that. */
bool coll_nezha_incumbent_lend(coll_nezha_module_t *module, struct ompi_communicator_t *comm,
                               const mca_coll_base_module_t *theirs);
/** What the table has is the incumbents from here on. Afterwards it is as before coll_nezha_incumbent_lend(). */
void coll_nezha_incumbent_take_back(coll_nezha_module_t *module, struct ompi_communicator_t *comm);

/** Calls the incumbent of `call` with these arguments and its module. Is what it returns. */
#define COLL_NEZHA_CALL_INCUMBENT(module, comm, call, ...)                              \
    ({                                                                                  \
        const __typeof__((module)->incumbent.call) function = (module)->incumbent.call; \
        mca_coll_base_module_t *const theirs = (module)->incumbent.call##_module;       \
        const bool lent = coll_nezha_incumbent_lend(module, comm, theirs);              \
        const int returned = function(__VA_ARGS__, theirs);                             \
        if (lent) {                                                                     \
            coll_nezha_incumbent_take_back(module, comm);                               \
        }                                                                               \
        returned;                                                                       \
    })

#endif
