/* SPDX-License-Identifier: BSD-3-Clause */
/* The component's structure and its life: register, open, close. */
#include "coll_nezha.h"

#include <stdio.h>

#include "ompi/constants.h"
#include "ompi/mca/coll/base/base.h"

#include "coll_nezha_engine.h"
#include "coll_nezha_params.h"
#include "coll_nezha_peers.h"
#include "coll_nezha_pvars.h"
#include "coll_nezha_request.h"
#include "coll_nezha_types.h"
#include "coll_nezha_unknown.h"
#include "opal/compat.h"
#include "opal/nezha_help.h"
#include "opal/nezha_modex.h"
#include "opal/nezha_topology.h"

/** Whether the Open MPI that loads us is the one we were built for. Its own check compares interface versions only,
 * while offsets in its structures move between releases of one series. */
static bool library_matches(void)
{
    char found[MPI_MAX_LIBRARY_VERSION_STRING];
    char wanted[64];
    int length = 0, major = -1, minor = -1, release = -1;
    PMPI_Get_library_version(found, &length);
    sscanf(found, "Open MPI v%d.%d.%d", &major, &minor, &release);
    if (OMPI_MAJOR_VERSION == major && OMPI_MINOR_VERSION == minor && OMPI_RELEASE_VERSION == release) {
        return true;
    }
    snprintf(wanted, sizeof wanted, "%d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
    nezha_help_show("wrong version", 2, (const char *[]){wanted, found});
    return false;
}

static int component_register(void)
{
    mca_base_component_t *self = &mca_coll_nezha_component.collm_version;
    sscanf(NEZHA_VERSION, "%d.%d.%d", &self->mca_component_major_version, &self->mca_component_minor_version,
           &self->mca_component_release_version);
    int rc = coll_nezha_params_register(self);
    if (OMPI_SUCCESS == rc) {
        rc = coll_nezha_pvars_register(self);
    }
    return rc;
}

static int component_open(void)
{
    nezha_help_init();
    if (!library_matches()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!nezha_modex_available()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!coll_nezha_params_bool("enable")) {
        coll_nezha_peers_publish_disabled();
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (0 == nezha_topology_job_rank()) {
        coll_nezha_unknown_tell();
    }
    return coll_nezha_engine_open();
}

static int component_close(void)
{
    coll_nezha_request_close();
    coll_nezha_module_release_teams();
    coll_nezha_peers_forget();
    coll_nezha_engine_close();
    return OMPI_SUCCESS;
}

static int component_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void)enable_progress_threads;
    (void)enable_mpi_threads;
    coll_nezha_types_init(); /* 5.0 has no types yet when it opens components */
    return OMPI_SUCCESS;
}

mca_coll_base_component_t mca_coll_nezha_component = {
    .collm_version =
        {
            NEZHA_COLL_VERSION,
            .mca_component_name = "nezha",
            MCA_BASE_MAKE_VERSION(component, 0, 0, 0), /* component_register() knows better */
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = component_register,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = component_init_query,
    .collm_comm_query = coll_nezha_comm_query,
};
