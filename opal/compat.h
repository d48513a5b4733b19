/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Every difference between the Open MPI series that this project is built for. No other file tests a version.
 * The macros are names only: a file that uses one includes Open MPI's header for it itself.
 */
#ifndef NEZHA_OPAL_COMPAT_H
#define NEZHA_OPAL_COMPAT_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "opal/class/opal_list.h"
#include "opal/class/opal_object.h" /* which opal_progress.h of 5.0 needs and does not include */
#include "opal/constants.h"
#include "opal/runtime/opal_progress.h"

#if OMPI_MAJOR_VERSION >= 5
#include "ompi/runtime/params.h"
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
/* Whether nezha_compat_modex_look finds all that this node has been sent. PMIx of 5.0 may find one process of another node and not the next. */
#define NEZHA_MODEX_LOOK_FINDS_ALL 0
#define NEZHA_COPY_ATTRIBUTE_PARAMS MPI_Comm from, int keyval, void *extra, void *value, void *copy, int *flag
#else
#define NEZHA_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define NEZHA_MODEX_SCOPE OPAL_PMIX_GLOBAL
#define NEZHA_MODEX_LOOK_FINDS_ALL 1
/* Here the function is told of the new communicator too. */
#define NEZHA_COPY_ATTRIBUTE_PARAMS \
    MPI_Comm from, int keyval, void *extra, void *value, void *copy, int *flag, __attribute__((unused)) MPI_Comm to
#endif

/* A byte transfer layer hands over a message: the parameters of the function, and where the message then is. The file includes
 * btl.h. */
#if OMPI_MAJOR_VERSION >= 5
#define NEZHA_BTL_RECEIVE_PARAMS \
    __attribute__((unused)) struct mca_btl_base_module_t *btl, const mca_btl_base_receive_descriptor_t *message
#else
#define NEZHA_BTL_RECEIVE_PARAMS                                                                                  \
    __attribute__((unused)) struct mca_btl_base_module_t *btl, __attribute__((unused)) mca_btl_base_tag_t tag,    \
        mca_btl_base_descriptor_t *message, __attribute__((unused)) void *context
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

/** Gets what `name` published under `key` if it is here already; no question leaves this process. The caller frees `*data`.
 *  Returns an OPAL code. (No macro of either series does this for bytes.) */
static inline int nezha_compat_modex_look(const char *key, const opal_process_name_t *name, void **data, size_t *size)
{
    *data = NULL;
    *size = 0;
#if OMPI_MAJOR_VERSION >= 5
    pmix_proc_t process;
    pmix_info_t only_here;
    pmix_value_t *found = NULL;
    OPAL_PMIX_CONVERT_NAME(&process, name);
    PMIX_INFO_LOAD(&only_here, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    int rc = PMIx_Get(&process, key, &only_here, 1, &found);
    PMIX_INFO_DESTRUCT(&only_here);
    if (PMIX_SUCCESS != rc || NULL == found) {
        return OPAL_ERR_NOT_FOUND;
    }
    if (PMIX_BYTE_OBJECT == found->type) {
        *data = found->data.bo.bytes;
        *size = found->data.bo.size;
        found->data.bo.bytes = NULL;
        found->data.bo.size = 0;
    }
    PMIX_VALUE_RELEASE(found);
#else
    opal_list_t hints;
    opal_value_t *found = NULL, *only_here = OBJ_NEW(opal_value_t);
    if (NULL == only_here) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    only_here->key = strdup(OPAL_PMIX_OPTIONAL);
    only_here->type = OPAL_BOOL;
    only_here->data.flag = true;
    OBJ_CONSTRUCT(&hints, opal_list_t);
    opal_list_append(&hints, &only_here->super);
    int rc = opal_pmix.get(name, key, &hints, &found);
    OPAL_LIST_DESTRUCT(&hints);
    if (OPAL_SUCCESS != rc || NULL == found) {
        return OPAL_ERR_NOT_FOUND;
    }
    if (OPAL_BYTE_OBJECT == found->type) {
        *data = found->data.bo.bytes;
        *size = (size_t)found->data.bo.size;
        found->data.bo.bytes = NULL;
        found->data.bo.size = 0;
    }
    OBJ_RELEASE(found);
#endif
    return NULL != *data ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND;
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

/** Whether this job goes on when a process dies: Open MPI then tells of that, and programs revoke communicators. */
static inline bool nezha_compat_tolerates_faults(void)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return ompi_ftmpi_enabled;
#else
    return false;
#endif
}

/** Whether a process has revoked `comm`. */
static inline bool nezha_compat_is_revoked(struct ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return ompi_comm_is_revoked(comm);
#else
    (void)comm;
    return false;
#endif
}

/** A rank of `comm` that Open MPI itself knows to be dead by now, so that no collective call can succeed any more; -1: it
 * knows of none. */
static inline int nezha_compat_dead_rank(struct ompi_communicator_t *comm)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    for (int rank = 0; ompi_comm_coll_revoked(comm) && rank < ompi_comm_size(comm); rank++) {
        if (!ompi_comm_is_proc_active(comm, rank, false)) {
            return rank;
        }
    }
#else
    (void)comm;
#endif
    return -1;
}

/** What a call on `comm` that failed returns: where Open MPI itself knows by now that a process of it is dead, or that
 * it is revoked, its own code for that, which a program that goes on without the process waits for; else `otherwise`.
 */
static inline int nezha_compat_failure(struct ompi_communicator_t *comm, int otherwise)
{
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
    return ompi_comm_is_revoked(comm)     ? MPI_ERR_REVOKED
           : ompi_comm_coll_revoked(comm) ? MPI_ERR_PROC_FAILED
                                          : otherwise;
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

/** Copies between memory of a device and the host's; it is done when this returns. Whether it could be. */
static inline bool nezha_compat_copy_device(void *to, const void *from, size_t bytes)
{
#if OMPI_MAJOR_VERSION >= 5
    return OPAL_SUCCESS == opal_accelerator.mem_copy(MCA_ACCELERATOR_NO_DEVICE_ID, MCA_ACCELERATOR_NO_DEVICE_ID, to,
                                                     from, bytes, MCA_ACCELERATOR_TRANSFER_UNSPEC);
#elif OPAL_CUDA_SUPPORT
    return NULL != opal_cuda_memcpy_sync(to, from, bytes);
#else
    (void)to;
    (void)from;
    (void)bytes;
    return false;
#endif
}

#endif
