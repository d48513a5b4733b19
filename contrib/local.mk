# SPDX-License-Identifier: BSD-3-Clause
# Commands and their Python modules, and the programs of the bench.

EXTRA_DIST += contrib/check contrib/install-packages

dist_doc_DATA = $(patsubst $(srcdir)/%,%,$(wildcard $(srcdir)/contrib/doc/*.md))
EXTRA_DIST += contrib/bench contrib/component-path contrib/demo contrib/faults contrib/figures contrib/rdma contrib/scale %D%/programs/torch_training.py %D%/programs/training.py

bench_common = \
	%D%/programs/bench_data.c %D%/programs/bench_data.h \
	%D%/programs/bench_options.c %D%/programs/bench_options.h \
	%D%/programs/bench_print.c %D%/programs/bench_print.h \
	%D%/programs/bench_run.c %D%/programs/bench_run.h

bench_of_mpi = $(bench_common) \
	%D%/programs/bench_collectives.c %D%/programs/bench_collectives.h \
	%D%/programs/nezha_allreduce_bench.c \
	%D%/programs/nezha_counters.c %D%/programs/nezha_counters.h

pkglibexecdir = $(libexecdir)/nezha
pkglibexec_PROGRAMS = %D%/programs/nezha_allreduce_bench
contrib_programs_nezha_allreduce_bench_SOURCES = $(bench_of_mpi)
contrib_programs_nezha_allreduce_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
contrib_programs_nezha_allreduce_bench_LDADD = $(MPI_LIBS)

# What contrib/bench --program preloads. -rpath has libtool make a shared library, which is not installed.
noinst_LTLIBRARIES += %D%/programs/nezha_allreduce_clock.la
contrib_programs_nezha_allreduce_clock_la_SOURCES = %D%/programs/nezha_allreduce_clock.c
contrib_programs_nezha_allreduce_clock_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
contrib_programs_nezha_allreduce_clock_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
contrib_programs_nezha_allreduce_clock_la_LIBADD = $(MPI_LIBS) -ldl

# Those of contrib/faults.
noinst_PROGRAMS += %D%/programs/nezha_fault_bench %D%/programs/nezha_flood
contrib_programs_nezha_fault_bench_SOURCES = \
	%D%/programs/bench_data.c %D%/programs/bench_data.h \
	%D%/programs/bench_options.c %D%/programs/bench_options.h \
	%D%/programs/nezha_counters.c %D%/programs/nezha_counters.h \
	%D%/programs/nezha_fault_bench.c
contrib_programs_nezha_fault_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
contrib_programs_nezha_fault_bench_LDADD = $(MPI_LIBS)
contrib_programs_nezha_flood_SOURCES = %D%/programs/nezha_flood.c
contrib_programs_nezha_flood_LDADD =

# That of contrib/scale.
noinst_PROGRAMS += %D%/programs/nezha_scale_probe
contrib_programs_nezha_scale_probe_SOURCES = \
	%D%/programs/nezha_counters.c %D%/programs/nezha_counters.h \
	%D%/programs/nezha_scale_probe.c
contrib_programs_nezha_scale_probe_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
contrib_programs_nezha_scale_probe_LDADD = $(MPI_LIBS)

# What shared memory gives between processes of one node, without MPI.
noinst_PROGRAMS += %D%/programs/nezha_node_bench
contrib_programs_nezha_node_bench_SOURCES = %D%/programs/nezha_node_bench.cc
contrib_programs_nezha_node_bench_LDADD = libnezha_engine.la

# What calls that do not block are worth.
noinst_PROGRAMS += %D%/programs/nezha_overlap_bench
contrib_programs_nezha_overlap_bench_SOURCES = \
	%D%/programs/nezha_counters.c %D%/programs/nezha_counters.h \
	%D%/programs/nezha_overlap_bench.c
contrib_programs_nezha_overlap_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
contrib_programs_nezha_overlap_bench_LDADD = $(MPI_LIBS)

# That of contrib/rdma.
if HAVE_VERBS_LIBRARY
noinst_PROGRAMS += %D%/programs/nezha_rdma_bench
endif
contrib_programs_nezha_rdma_bench_SOURCES = \
	%D%/programs/bench_data.c %D%/programs/bench_data.h \
	%D%/programs/bench_options.c %D%/programs/bench_options.h \
	%D%/programs/nezha_counters.c %D%/programs/nezha_counters.h \
	%D%/programs/nezha_rdma_bench.c \
	%D%/programs/rdma_raw.c %D%/programs/rdma_raw.h
contrib_programs_nezha_rdma_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) $(VERBS_CPPFLAGS)
contrib_programs_nezha_rdma_bench_LDADD = $(MPI_LIBS) -libverbs

# The manual of the parameters, from the table that Open MPI and its ompi_info get them from.
noinst_PROGRAMS += %D%/programs/parameters_page
contrib_programs_parameters_page_SOURCES = %D%/programs/parameters_page.cc
contrib_programs_parameters_page_LDADD = libnezha_engine.la
nodist_man_MANS = nezha-parameters.7
CLEANFILES += nezha-parameters.7
nezha-parameters.7: %D%/programs/parameters_page$(EXEEXT)
	$(AM_V_GEN)./%D%/programs/parameters_page$(EXEEXT) >$@.new && mv $@.new $@

include %D%/command.mk
include %D%/simulate/local.mk
include %D%/dist/local.mk

if HAVE_GLOO
noinst_PROGRAMS += %D%/programs/nezha_gloo_bench
contrib_programs_nezha_gloo_bench_SOURCES = $(bench_common) \
	%D%/programs/gloo_rail.cc %D%/programs/gloo_rail.h \
	%D%/programs/gloo_rails.cc %D%/programs/gloo_rails.h \
	%D%/programs/gloo_reduction.cc %D%/programs/gloo_reduction.h \
	%D%/programs/nezha_gloo_bench.cc
contrib_programs_nezha_gloo_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DOMPI_SKIP_MPICXX
contrib_programs_nezha_gloo_bench_LDADD = $(GLOO_LIBS) $(MPI_LIBS)
endif

# The same program with another MPI. -export-dynamic: libraries find what mpich_manners.c puts in front of theirs.
if HAVE_MPICH
noinst_PROGRAMS += %D%/programs/nezha_mpich_bench
contrib_programs_nezha_mpich_bench_SOURCES = $(bench_of_mpi) %D%/programs/mpich_manners.c
contrib_programs_nezha_mpich_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
contrib_programs_nezha_mpich_bench_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
contrib_programs_nezha_mpich_bench_LDADD = $(MPICH_LIBS) -ldl
endif
