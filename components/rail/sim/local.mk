# SPDX-License-Identifier: BSD-3-Clause
# Rails of a simulated network, for tests and tools: not a part of what Open MPI loads.
noinst_LTLIBRARIES += libnezha_sim.la
libnezha_sim_la_SOURCES = \
	%D%/lane.cc %D%/lane.h \
	%D%/network.cc %D%/network.h \
	%D%/port.cc %D%/port.h \
	%D%/queue_kind.cc %D%/queue_kind.h \
	%D%/queue_pair.cc %D%/queue_pair.h \
	%D%/random.h \
	%D%/stream.cc %D%/stream.h \
	%D%/transport.cc %D%/transport.h
