/* SPDX-License-Identifier: BSD-3-Clause */
/** What the processes of a job tell one another at start, through PMIx. Values are bytes, not strings. */
#ifndef NEZHA_OPAL_MODEX_H
#define NEZHA_OPAL_MODEX_H

#include <stdbool.h>
#include <stddef.h>

#include "ompi_config.h"

#include "opal/util/proc.h"

/** False where there is nobody to tell, as in ompi_info. */
bool nezha_modex_available(void);

/** Puts `data` under `key` for the peers of this job. Only before the job's first fence, so from a component's open.
 *  The bytes are copied. Returns an OPAL code. */
int nezha_modex_publish(const char *key, const void *data, size_t size);

/**
 * Gets what `name` published under `key`; the caller frees `*data`. An absent key costs two seconds of busy waiting, so
 * the caller asks once per process and remembers. (The forms of the lookup that do not wait answer "absent" for remote
 * processes when the job was started without a collecting fence.) Returns an OPAL code.
 */
int nezha_modex_read(const char *key, const opal_process_name_t *name, void **data, size_t *size);

/** Whether this process has been sent what all others published, so that nezha_modex_look is right about absent keys. */
bool nezha_modex_complete(void);

/** As nezha_modex_read, among what this process has been sent already: never waits. */
int nezha_modex_look(const char *key, const opal_process_name_t *name, void **data, size_t *size);

#endif
