/* SPDX-License-Identifier: BSD-3-Clause */
/** MPI_T performance variables: totals, and per rail arrays in the order of the rails. */
#ifndef MCA_COLL_NEZHA_PVARS_H
#define MCA_COLL_NEZHA_PVARS_H

#include "ompi_config.h"

#include "opal/mca/mca.h"

/** Returns an OMPI code. */
int coll_nezha_pvars_register(const mca_base_component_t *component);

#endif
