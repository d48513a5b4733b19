/* SPDX-License-Identifier: BSD-3-Clause */
/** Parameters that somebody set and that do not exist. */
#ifndef MCA_COLL_NEZHA_UNKNOWN_H
#define MCA_COLL_NEZHA_UNKNOWN_H

/** Shows a text about every coll_nezha_ parameter in this process's environment, where mpirun's --mca arrives, and
 * in the files of parameters that Open MPI reads, which is none of the table's. Open MPI itself ignores those. */
void coll_nezha_unknown_tell(void);

#endif
