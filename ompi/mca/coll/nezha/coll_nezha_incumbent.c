/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_nezha_incumbent.h"

#include <string.h>

/** The references to modules go with them: the table holds one to each of its own, and so does our module. */
static void exchange(coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
#define EXCHANGE(one, other)                   \
    do {                                       \
        const __typeof__(one) between = (one); \
        (one) = (other);                       \
        (other) = between;                     \
    } while (0)
#define EXCHANGE_CALL(call, collective, ours)                                          \
    if (NULL != module->incumbent.call) {                                              \
        EXCHANGE(module->incumbent.call, comm->c_coll->coll_##call);                   \
        EXCHANGE(module->incumbent.call##_module, comm->c_coll->coll_##call##_module); \
    }
    EXCHANGE_CALL(allreduce, , )
    EXCHANGE_CALL(barrier, , )
    COLL_NEZHA_SIBLINGS(EXCHANGE_CALL)
}

bool coll_nezha_incumbent_lend(coll_nezha_module_t *module, struct ompi_communicator_t *comm,
                               const mca_coll_base_module_t *theirs)
{
    if (0 != strcmp("mca_coll_han_module_t", theirs->super.obj_class->cls_name)) {
        return false;
    }
    exchange(module, comm);
    return true;
}

void coll_nezha_incumbent_take_back(coll_nezha_module_t *module, struct ompi_communicator_t *comm)
{
    exchange(module, comm);
}
