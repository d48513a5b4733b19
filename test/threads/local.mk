# SPDX-License-Identifier: BSD-3-Clause
# Ranks as threads of one process over loopback. A test that brings its own main goes to plain_programs instead.
ranks_sources = %D%/ranks.cc %D%/ranks.h %D%/kinds.cc %D%/kinds.h %D%/barriers.h %D%/late_calls.h \
	test/unit/same_bytes.h test/unit/slowed_down.h

gtest_programs += %D%/test_allreduce
test_threads_test_allreduce_SOURCES = %D%/test_allreduce.cc %D%/matrix.cc %D%/matrix.h $(ranks_sources)

gtest_programs += %D%/test_aggregation %D%/test_few_lanes %D%/test_hierarchy %D%/test_hierarchy_blocks %D%/test_hierarchy_roots %D%/test_requests %D%/test_teams %D%/test_within_node
test_threads_test_aggregation_SOURCES = %D%/test_aggregation.cc $(ranks_sources)
test_threads_test_few_lanes_SOURCES = %D%/test_few_lanes.cc $(ranks_sources)
test_threads_test_hierarchy_SOURCES = %D%/test_hierarchy.cc test/unit/open_descriptors.h test/unit/temporary_folder.h $(ranks_sources)
test_threads_test_hierarchy_blocks_SOURCES = %D%/test_hierarchy_blocks.cc %D%/hierarchy_case.h $(ranks_sources)
test_threads_test_hierarchy_roots_SOURCES = %D%/test_hierarchy_roots.cc %D%/hierarchy_case.h $(ranks_sources)
test_threads_test_requests_SOURCES = %D%/test_requests.cc $(ranks_sources)
test_threads_test_teams_SOURCES = %D%/test_teams.cc $(ranks_sources)
test_threads_test_within_node_SOURCES = %D%/test_within_node.cc test/unit/open_descriptors.h $(ranks_sources)

gtest_programs += %D%/test_aggregator %D%/test_aggregator_nodes %D%/test_aggregator_tree
test_threads_test_aggregator_SOURCES = %D%/test_aggregator.cc %D%/aggregators.h $(ranks_sources)
test_threads_test_aggregator_nodes_SOURCES = %D%/test_aggregator_nodes.cc %D%/aggregators.h $(ranks_sources)
test_threads_test_aggregator_tree_SOURCES = %D%/test_aggregator_tree.cc %D%/aggregators.h $(ranks_sources)

# Its getaddrinfo takes its time.
gtest_programs += %D%/test_lookups
test_threads_test_lookups_SOURCES = %D%/test_lookups.cc %D%/aggregators.h $(ranks_sources)

# It has Nezha open test/sharp/stub.la.
if HAVE_SHARP
gtest_programs += %D%/test_sharp
endif
test_threads_test_sharp_SOURCES = %D%/test_sharp.cc %D%/aggregators.h $(ranks_sources)

# Its socket() makes small ones.
gtest_programs += %D%/test_ends
test_threads_test_ends_SOURCES = %D%/test_ends.cc $(ranks_sources)

# Its operator new counts.
gtest_programs += %D%/test_steady_state
test_threads_test_steady_state_SOURCES = %D%/test_steady_state.cc $(ranks_sources) \
	test/unit/count_allocations.cc test/unit/count_allocations.h

gtest_programs += %D%/test_life %D%/test_answers
test_threads_test_life_SOURCES = %D%/test_life.cc %D%/naps.h test/unit/open_descriptors.h $(ranks_sources)
test_threads_test_answers_SOURCES = %D%/test_answers.cc test/unit/small_files.h $(ranks_sources)

# Its operator new refuses.
gtest_programs += %D%/test_memory
test_threads_test_memory_SOURCES = %D%/test_memory.cc $(ranks_sources)

gtest_programs += %D%/test_exceptions
test_threads_test_exceptions_SOURCES = %D%/test_exceptions.cc $(ranks_sources)

gtest_programs += %D%/test_descriptors
test_threads_test_descriptors_SOURCES = %D%/test_descriptors.cc $(ranks_sources)

gtest_programs += %D%/test_workers
test_threads_test_workers_SOURCES = %D%/test_workers.cc $(ranks_sources)

gtest_programs += %D%/test_host_progress
test_threads_test_host_progress_SOURCES = %D%/test_host_progress.cc $(ranks_sources)

gtest_programs += %D%/test_rates
test_threads_test_rates_SOURCES = %D%/test_rates.cc $(ranks_sources)

gtest_programs += %D%/test_elsewhere
test_threads_test_elsewhere_SOURCES = %D%/test_elsewhere.cc $(ranks_sources)

gtest_programs += %D%/test_learning
test_threads_test_learning_SOURCES = %D%/test_learning.cc $(ranks_sources)

gtest_programs += %D%/test_tables
test_threads_test_tables_SOURCES = %D%/test_tables.cc $(ranks_sources)

# What test_futex.py and test_interrupted.py watch.
check_PROGRAMS += %D%/processes
test_threads_processes_SOURCES = %D%/processes.cc
test_threads_processes_LDADD = libnezha_engine.la
tap_tests += %D%/test_futex.py %D%/test_interrupted.py
