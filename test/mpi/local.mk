# SPDX-License-Identifier: BSD-3-Clause
# MPI programs (C) that the TAP scripts test_*.py of this folder start with mpirun; contrib/check and `make dist` find the
# scripts by themselves.
mpi_test_common = %D%/common.c %D%/common.h
check_PROGRAMS += \
	%D%/aborts \
	%D%/beyond_2gib \
	%D%/communicators \
	%D%/counters \
	%D%/device_memory \
	%D%/differing_counts \
	%D%/duplicates \
	%D%/early_tool \
	%D%/every_operation \
	%D%/extremes \
	%D%/forked \
	%D%/goes_on \
	%D%/host_btl \
	%D%/host_memory \
	%D%/idup \
	%D%/locking_operation \
	%D%/nonblocking \
	%D%/own_types \
	%D%/phases \
	%D%/progress \
	%D%/revoked \
	%D%/same_bits \
	%D%/sessions \
	%D%/sharp \
	%D%/siblings \
	%D%/survives \
	%D%/threads \
	%D%/unfinished \
	%D%/until_error \
	%D%/without_last

test_mpi_aborts_SOURCES = %D%/aborts.c $(mpi_test_common)
test_mpi_aborts_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_aborts_LDADD = $(MPI_LIBS) -lm
test_mpi_beyond_2gib_SOURCES = %D%/beyond_2gib.c $(mpi_test_common)
test_mpi_beyond_2gib_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_beyond_2gib_LDADD = $(MPI_LIBS) -lm
test_mpi_communicators_SOURCES = %D%/communicators.c $(mpi_test_common)
test_mpi_communicators_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_communicators_LDADD = $(MPI_LIBS) -lm
test_mpi_counters_SOURCES = %D%/counters.c $(mpi_test_common)
test_mpi_counters_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_counters_LDADD = $(MPI_LIBS) -lm
test_mpi_device_memory_SOURCES = %D%/device_memory.c $(mpi_test_common)
test_mpi_device_memory_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_device_memory_LDADD = $(MPI_LIBS) -ldl -lm
test_mpi_differing_counts_SOURCES = %D%/differing_counts.c %D%/persistent.h $(mpi_test_common)
test_mpi_differing_counts_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_differing_counts_LDADD = $(MPI_LIBS) -lm
test_mpi_duplicates_SOURCES = %D%/duplicates.c $(mpi_test_common)
test_mpi_duplicates_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_duplicates_LDADD = $(MPI_LIBS) -lm
test_mpi_early_tool_SOURCES = %D%/early_tool.c $(mpi_test_common)
test_mpi_early_tool_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_early_tool_LDADD = $(MPI_LIBS) -lm
test_mpi_every_operation_SOURCES = %D%/every_operation.c $(mpi_test_common) %D%/types.c %D%/types.h
test_mpi_every_operation_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_every_operation_LDADD = $(MPI_LIBS) -lm
test_mpi_extremes_SOURCES = %D%/extremes.c $(mpi_test_common) %D%/types.c %D%/types.h
test_mpi_extremes_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_extremes_LDADD = $(MPI_LIBS) -lm
test_mpi_forked_SOURCES = %D%/forked.c $(mpi_test_common)
test_mpi_forked_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_forked_LDADD = $(MPI_LIBS) -lm
test_mpi_goes_on_SOURCES = %D%/goes_on.c $(mpi_test_common)
test_mpi_goes_on_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_goes_on_LDADD = $(MPI_LIBS) -lm
# No job: it brings Open MPI's byte transfer layer itself.
test_mpi_host_btl_SOURCES = %D%/host_btl.c
test_mpi_host_btl_CPPFLAGS = $(mca_coll_nezha_la_CPPFLAGS)
test_mpi_host_btl_CFLAGS = $(mca_coll_nezha_la_CFLAGS)
test_mpi_host_btl_LDADD = $(OMPI_LIBS)
test_mpi_host_memory_SOURCES = %D%/host_memory.c
test_mpi_host_memory_CPPFLAGS = $(mca_coll_nezha_la_CPPFLAGS)
test_mpi_host_memory_CFLAGS = $(mca_coll_nezha_la_CFLAGS)
test_mpi_host_memory_LDADD = $(OMPI_LIBS) $(MPI_LIBS)
test_mpi_idup_SOURCES = %D%/idup.c $(mpi_test_common)
test_mpi_idup_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_idup_LDADD = $(MPI_LIBS) -lm
test_mpi_locking_operation_SOURCES = %D%/locking_operation.c $(mpi_test_common)
test_mpi_locking_operation_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_locking_operation_LDADD = $(MPI_LIBS) -lm
test_mpi_nonblocking_SOURCES = %D%/nonblocking.c %D%/persistent.h $(mpi_test_common)
test_mpi_nonblocking_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_nonblocking_LDADD = $(MPI_LIBS) -lm
test_mpi_own_types_SOURCES = %D%/own_types.c $(mpi_test_common)
test_mpi_own_types_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_own_types_LDADD = $(MPI_LIBS) -lm
test_mpi_phases_SOURCES = %D%/phases.c $(mpi_test_common)
test_mpi_phases_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_phases_LDADD = $(MPI_LIBS) -lm
test_mpi_progress_SOURCES = %D%/progress.c $(mpi_test_common)
test_mpi_progress_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_progress_LDADD = $(MPI_LIBS) -lm
test_mpi_revoked_SOURCES = %D%/revoked.c $(mpi_test_common)
test_mpi_revoked_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_revoked_LDADD = $(MPI_LIBS) -lm
test_mpi_same_bits_SOURCES = %D%/same_bits.c $(mpi_test_common)
test_mpi_same_bits_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_same_bits_LDADD = $(MPI_LIBS) -lm
test_mpi_sessions_SOURCES = %D%/sessions.c $(mpi_test_common)
test_mpi_sessions_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_sessions_LDADD = $(MPI_LIBS) -lm
test_mpi_sharp_SOURCES = %D%/sharp.c $(mpi_test_common)
test_mpi_sharp_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_sharp_LDADD = $(MPI_LIBS) -lm
test_mpi_siblings_SOURCES = %D%/siblings.c $(mpi_test_common)
test_mpi_siblings_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_siblings_LDADD = $(MPI_LIBS) -lm
test_mpi_survives_SOURCES = %D%/survives.c %D%/nuisance.c %D%/nuisance.h $(mpi_test_common)
test_mpi_survives_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_survives_LDADD = $(MPI_LIBS) -lm
test_mpi_threads_SOURCES = %D%/threads.c $(mpi_test_common)
test_mpi_threads_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_threads_LDADD = $(MPI_LIBS) -lm
test_mpi_unfinished_SOURCES = %D%/unfinished.c $(mpi_test_common)
test_mpi_unfinished_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_unfinished_LDADD = $(MPI_LIBS) -lm
test_mpi_until_error_SOURCES = %D%/until_error.c $(mpi_test_common)
test_mpi_until_error_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_until_error_LDADD = $(MPI_LIBS) -lm
test_mpi_without_last_SOURCES = %D%/without_last.c $(mpi_test_common)
test_mpi_without_last_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_without_last_LDADD = $(MPI_LIBS) -lm

# Preloaded by the scripts.
check_LTLIBRARIES = %D%/join_first.la %D%/late_progress.la %D%/no_reduce_local.la %D%/odd_reduce_local.la %D%/other_release.la
test_mpi_join_first_la_SOURCES = %D%/join_first.c
test_mpi_join_first_la_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_join_first_la_LIBADD = $(MPI_LIBS)
test_mpi_join_first_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_mpi_late_progress_la_SOURCES = %D%/late_progress.c
test_mpi_late_progress_la_LIBADD = -ldl
test_mpi_late_progress_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_mpi_no_reduce_local_la_SOURCES = %D%/no_reduce_local.c
test_mpi_no_reduce_local_la_LIBADD = -ldl
test_mpi_no_reduce_local_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_mpi_odd_reduce_local_la_SOURCES = %D%/odd_reduce_local.c
test_mpi_odd_reduce_local_la_LIBADD = -ldl
test_mpi_odd_reduce_local_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_mpi_other_release_la_SOURCES = %D%/other_release.c
test_mpi_other_release_la_CPPFLAGS = $(MPI_CFLAGS)
test_mpi_other_release_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
