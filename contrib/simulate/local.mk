# SPDX-License-Identifier: BSD-3-Clause
# The simulator behind `nezha simulate`: a program of its own, which uses nothing of the engine.
noinst_LTLIBRARIES += libnezha_simulate.la
libnezha_simulate_la_SOURCES = \
	%D%/build.cc \
	%D%/cluster.cc %D%/cluster.h \
	%D%/cluster_figures.cc \
	%D%/device.h \
	%D%/events.h \
	%D%/fabric.cc %D%/fabric.h \
	%D%/figures.h \
	%D%/measured.h \
	%D%/model_figures.cc \
	%D%/pcie.h \
	%D%/perftest.cc %D%/perftest.h \
	%D%/random.h \
	%D%/replay.cc %D%/replay.h \
	%D%/setting.cc %D%/setting.h \
	%D%/sweep.cc %D%/sweep.h \
	%D%/traffic.cc %D%/traffic.h

pkglibexec_PROGRAMS += %D%/nezha_simulate
contrib_simulate_nezha_simulate_SOURCES = %D%/main.cc
contrib_simulate_nezha_simulate_LDADD = libnezha_simulate.la

# What our own allreduce sends, from the engine on its simulated rail.
pkglibexec_PROGRAMS += %D%/nezha_traffic
contrib_simulate_nezha_traffic_SOURCES = %D%/traffic_main.cc %D%/recorder.cc %D%/recorder.h
contrib_simulate_nezha_traffic_LDADD = libnezha_sim.la libnezha_engine.la

# What SimGrid makes of the same traffic.
if HAVE_SIMGRID
noinst_PROGRAMS += %D%/nezha_simgrid
contrib_simulate_nezha_simgrid_SOURCES = %D%/simgrid_main.cc
contrib_simulate_nezha_simgrid_CPPFLAGS = $(AM_CPPFLAGS) $(SIMGRID_CFLAGS)
contrib_simulate_nezha_simgrid_LDADD = libnezha_simulate.la $(SIMGRID_LIBS)
endif

gtest_programs += test/unit/test_simulate_models test/unit/test_simulate_cluster test/unit/test_simulate_traffic
test_unit_test_simulate_models_SOURCES = test/unit/test_simulate_models.cc
test_unit_test_simulate_models_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
test_unit_test_simulate_models_LDADD = libnezha_simulate.la $(GTEST_LIBS)
test_unit_test_simulate_cluster_SOURCES = test/unit/test_simulate_cluster.cc
test_unit_test_simulate_cluster_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
test_unit_test_simulate_cluster_LDADD = libnezha_simulate.la $(GTEST_LIBS)
test_unit_test_simulate_traffic_SOURCES = test/unit/test_simulate_traffic.cc %D%/recorder.cc %D%/recorder.h
test_unit_test_simulate_traffic_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
test_unit_test_simulate_traffic_LDADD = libnezha_simulate.la libnezha_sim.la $(LDADD)
