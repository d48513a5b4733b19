/* SPDX-License-Identifier: BSD-3-Clause */
/** The engine's parameter table as MCA variables. */
#ifndef MCA_COLL_NEZHA_PARAMS_H
#define MCA_COLL_NEZHA_PARAMS_H

#include "ompi_config.h"

#include <stdbool.h>

#include "opal/mca/mca.h"

#include "nezha/nezha.h"

/** Makes an MCA variable of each row. May be called again after Open MPI forgot its variables. Returns an OMPI code. */
int coll_nezha_params_register(const mca_base_component_t *component);

/** A configuration from the variables' values; what the table refuses is shown in a help text and stays at its default.
 *  The caller destroys it. NULL when memory is refused. */
nezha_config_t *coll_nezha_params_config(void);

/** The value in force (a refused one counts as the default) of a BOOL or INT parameter of the table. */
bool coll_nezha_params_bool(const char *name);
int coll_nezha_params_int(const char *name);
/** Whether the value in force of a text parameter says anything. */
bool coll_nezha_params_given(const char *name);
/** Those that rails are to carry: see nezha_config_collectives(). */
unsigned coll_nezha_params_collectives(void);
/** See nezha_config_collectives_large(). */
unsigned coll_nezha_params_collectives_large(void);

#endif
