# SPDX-License-Identifier: BSD-3-Clause
# Whole engines on the simulated network, with a virtual clock and faults.
plain_programs += %D%/failover_times %D%/sim_run
sim_world = \
	%D%/caller.cc %D%/caller.h %D%/caller_end.cc %D%/caller_ways.cc \
	%D%/faults.cc %D%/faults.h \
	%D%/node_system.cc %D%/node_system.h \
	%D%/observer.cc %D%/observer.h \
	%D%/process.cc %D%/process.h \
	%D%/program.cc %D%/program.h \
	%D%/results.cc %D%/results.h \
	%D%/service.cc %D%/service.h \
	%D%/setting.cc %D%/setting.h \
	%D%/sharing.cc %D%/sharing.h \
	%D%/storms.cc %D%/storms.h \
	%D%/waker.h \
	%D%/world.cc %D%/world.h \
	test/unit/count_allocations.cc test/unit/count_allocations.h test/unit/slowed_down.h
sim_scenario = %D%/scenario.cc %D%/scenario.h $(sim_world)
test_sim_sim_run_SOURCES = %D%/sim_run.cc test/unit/open_descriptors.h $(sim_world)
test_sim_sim_run_LDADD = libnezha_sim.la libnezha_engine.la
check_PROGRAMS += %D%/allreduce_times
test_sim_allreduce_times_SOURCES = %D%/allreduce_times.cc $(sim_scenario)
test_sim_allreduce_times_LDADD = libnezha_sim.la libnezha_engine.la
check_PROGRAMS += %D%/work_of_ranks
test_sim_work_of_ranks_SOURCES = %D%/work_of_ranks.cc
test_sim_work_of_ranks_LDADD = libnezha_sim.la libnezha_engine.la
test_sim_failover_times_SOURCES = %D%/failover_times.cc $(sim_scenario)
test_sim_failover_times_LDADD = libnezha_sim.la libnezha_engine.la

gtest_programs += %D%/test_failover %D%/test_false_alarms %D%/test_flapping %D%/test_learning %D%/test_sampling
test_sim_test_failover_SOURCES = %D%/test_failover.cc $(sim_scenario)
test_sim_test_failover_LDADD = libnezha_sim.la $(LDADD)
test_sim_test_false_alarms_SOURCES = %D%/test_false_alarms.cc $(sim_scenario)
test_sim_test_false_alarms_LDADD = libnezha_sim.la $(LDADD)
test_sim_test_flapping_SOURCES = %D%/test_flapping.cc $(sim_scenario)
test_sim_test_flapping_LDADD = libnezha_sim.la $(LDADD)
test_sim_test_learning_SOURCES = %D%/test_learning.cc $(sim_scenario)
test_sim_test_learning_LDADD = libnezha_sim.la $(LDADD)
test_sim_test_sampling_SOURCES = %D%/test_sampling.cc $(sim_scenario)
test_sim_test_sampling_LDADD = libnezha_sim.la $(LDADD)

# The simulator with one of the engine's sources changed: DIR/mutant.cc stands in for it. The linker finds what it defines
# before it looks into the engine's library. Made by test/sim/mutants.py as `make DIR/mutant`.
%/mutant: %/mutant.cc test/sim/sim_run
	$(AM_V_CXX)$(CXXCOMPILE) -c -o $@.o $<
	$(AM_V_CXXLD)$(CXXLINK) $@.o $(test_sim_sim_run_OBJECTS) $(test_sim_sim_run_LDADD) $(LIBS)
