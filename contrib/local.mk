# SPDX-License-Identifier: BSD-3-Clause
# Commands and their Python modules (EXTRA_DIST), and the programs of the bench:
#   noinst_PROGRAMS += %D%/programs/nezha_allreduce_bench
#   contrib_programs_nezha_allreduce_bench_SOURCES = %D%/programs/nezha_allreduce_bench.c
#   contrib_programs_nezha_allreduce_bench_CPPFLAGS = $(MPI_CFLAGS)
#   contrib_programs_nezha_allreduce_bench_LDADD = $(MPI_LIBS) -lm
#   if HAVE_GLOO
#   noinst_PROGRAMS += %D%/programs/nezha_gloo_bench
#   contrib_programs_nezha_gloo_bench_SOURCES = %D%/programs/nezha_gloo_bench.cc
#   contrib_programs_nezha_gloo_bench_LDADD = $(GLOO_LIBS)
#   endif
EXTRA_DIST += contrib/check contrib/install-packages
