/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * In place of a header of Open MPI that distributions do not install: the one name that the installed ompi/op/op.h takes
 * from it, in a function that is not used here.
 */
#ifndef NEZHA_ABSENT_FORTRAN_FINT_2_INT_H
#define NEZHA_ABSENT_FORTRAN_FINT_2_INT_H

#define OMPI_INT_2_FINT(value) ((MPI_Fint)(value))

#endif
