/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, makes this Open MPI call itself another release: what a component built for this one sees when it is
 * loaded by that other one. */
#include <mpi.h>
#include <string.h>

__attribute__((visibility("default"))) int PMPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Open MPI v4.1.99, package: another one");
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}
