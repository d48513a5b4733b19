/* SPDX-License-Identifier: BSD-3-Clause */
/** The text that says on which nodes Nezha is not used, while it is on others. */
#ifndef MCA_COLL_NEZHA_LACKING_H
#define MCA_COLL_NEZHA_LACKING_H

#include <stdbool.h>

struct ompi_communicator_t;

/** Says, at the first communicator of this process that is left to Open MPI because some of its ranks do not use Nezha,
 * which those are. One rank of the communicator tells. Says nothing where a communicator of one node is not wanted in any
 * case. Waits for nobody; looks at no more than LACKING_LOOKED ranks. */
void coll_nezha_lacking_tell(struct ompi_communicator_t *comm, bool one_node);

#endif
