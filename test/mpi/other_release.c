/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, makes this Open MPI call itself another release: what a component built for this one sees when it is
 * loaded by that other one. */
#include <mpi.h>
#include <stdio.h>

__attribute__((visibility("default"))) int PMPI_Get_library_version(char* version, int* length) {
  *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v%d.%d.99, package: another one",
                     OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
  return MPI_SUCCESS;
}
