/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Every difference between the Open MPI series that this project is built for. No other file tests a version.
 * The macros are names only: a file that uses one includes Open MPI's header for it itself.
 */
#ifndef NEZHA_OPAL_COMPAT_H
#define NEZHA_OPAL_COMPAT_H

#include "ompi_config.h"

#include <stdbool.h>

#include "ompi/communicator/communicator.h"
#include "opal/class/opal_object.h" /* which opal_progress.h of 5.0 needs and does not include */
#include "opal/runtime/opal_progress.h"

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/accelerator/accelerator.h"
#include "opal/mca/pmix/pmix-internal.h"
#else
#include "opal/mca/pmix/pmix.h"
#if OPAL_CUDA_SUPPORT
#include "opal/datatype/opal_datatype_cuda.h"
#endif
#endif

#if OMPI_MAJOR_VERSION >= 5
#define NEZHA_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#define NEZHA_MODEX_SCOPE PMIX_GLOBAL
#define NEZHA_COPY_ATTRIBUTE_PARAMS MPI_Comm from, int keyval, void *extra, void *value, void *copy, int *flag
#else
#define NEZHA_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define NEZHA_MODEX_SCOPE OPAL_PMIX_GLOBAL
/* Here the function is told of the new communicator too. */
#define NEZHA_COPY_ATTRIBUTE_PARAMS \
    MPI_Comm from, int keyval, void *extra, void *value, void *copy, int *flag, __attribute__((unused)) MPI_Comm to
#endif

/** Whether this process has a PMIx to publish to and to ask (ompi_info has none). */
static inline bool nezha_compat_has_pmix(void)
{
#if OMPI_MAJOR_VERSION >= 5
    return PMIx_Initialized();
#else
    return NULL != opal_pmix.initialized && opal_pmix.initialized();
#endif
}

/** How many events were handled; series that do not say are taken to have had none. */
static inline int nezha_compat_progress(void)
{
#if OMPI_MAJOR_VERSION >= 5
    return opal_progress();
#else
    opal_progress();
    return 0;
#endif
}

/** What a call on `comm` that failed returns: where Open MPI itself knows by now that a process of it is dead, or that
 * it is revoked, its own code for that, which a program that goes on without the process waits for; else `otherwise`.
 */
static inline int nezha_compat_failure(struct ompi_communicator_t *comm, int otherwise)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    int known = otherwise;
    return ompi_comm_iface_coll_check(comm, &known) ? otherwise : known;
#else
    (void)comm;
    return otherwise;
#endif
}

/** Whether `buffer` is memory of a device, which the host must not read. */
static inline bool nezha_compat_is_device(const void *buffer)
{
#if OMPI_MAJOR_VERSION >= 5
    int device = 0;
    uint64_t flags = 0;
    return opal_accelerator.check_addr(buffer, &device, &flags) > 0;
#elif OPAL_CUDA_SUPPORT
    return opal_cuda_check_bufs((char *)buffer, (char *)buffer);
#else
    (void)buffer;
    return false;
#endif
}

#endif
