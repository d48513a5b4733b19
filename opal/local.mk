# SPDX-License-Identifier: BSD-3-Clause
# Adapters to Open MPI's runtime, C. absent/: headers of Open MPI that distributions do not install, looked for after all
# others.
glue_sources += %D%/compat.h \
	%D%/absent/ompi/mpi/fortran/base/fint_2_int.h \
	%D%/absent/opal/mca/threads/pthreads/threads_pthreads_mutex.h \
	%D%/absent/opal/mca/threads/pthreads/threads_pthreads_threads.h \
	%D%/nezha_btl.c %D%/nezha_btl.h \
	%D%/nezha_help.c %D%/nezha_help.h \
	%D%/nezha_memory.c %D%/nezha_memory.h \
	%D%/nezha_modex.c %D%/nezha_modex.h \
	%D%/nezha_output.c %D%/nezha_output.h \
	%D%/nezha_progress.c %D%/nezha_progress.h \
	%D%/nezha_topology.c %D%/nezha_topology.h \
	%D%/nezha_transport.c %D%/nezha_transport.h
