# SPDX-License-Identifier: BSD-3-Clause
# MPI programs (C) that the TAP scripts test_*.py of this folder start with mpirun; contrib/check and `make dist` find the scripts by themselves.
#   check_PROGRAMS += %D%/every_operation
#   test_mpi_every_operation_SOURCES = %D%/every_operation.c
#   test_mpi_every_operation_CPPFLAGS = $(MPI_CFLAGS)
#   test_mpi_every_operation_LDADD = $(MPI_LIBS)
