/* SPDX-License-Identifier: BSD-3-Clause */
/** ALLREDUCE_INIT: MPI_Allreduce_init by the name that this MPI has for it; not defined where it has none. */
#ifndef NEZHA_TEST_MPI_PERSISTENT_H
#define NEZHA_TEST_MPI_PERSISTENT_H

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define ALLREDUCE_INIT MPI_Allreduce_init
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ALLREDUCE_INIT MPIX_Allreduce_init
#endif

#endif
