# SPDX-License-Identifier: BSD-3-Clause
# The ranks of one node over shared memory.
engine_sources += \
	%D%/chunked_operation.cc %D%/chunked_operation.h \
	%D%/copy.h \
	%D%/node_acceptor.cc %D%/node_acceptor.h \
	%D%/node_call.h \
	%D%/node_connector.cc %D%/node_connector.h \
	%D%/node_greeting.cc %D%/node_greeting.h \
	%D%/node_layout.cc %D%/node_layout.h \
	%D%/node_memory.cc %D%/node_memory.h \
	%D%/node_operation.h \
	%D%/node_socket.h \
	%D%/node_stage.cc %D%/node_stage.h \
	%D%/node_system.cc %D%/node_system.h \
	%D%/node_life.h %D%/node_times.h \
	%D%/node_trial.cc %D%/node_trial.h \
	%D%/node_wait.h \
	%D%/peer_memory.cc %D%/peer_memory.h \
	%D%/segment.cc %D%/segment.h \
	%D%/shared_memory.cc %D%/shared_memory.h \
	%D%/small_operation.cc %D%/small_operation.h

node_members_sources = test/unit/node_members.h test/unit/node_case.cc test/unit/node_case.h test/unit/same_bytes.h
gtest_programs += test/unit/test_node_memory test/unit/test_node_processes test/unit/test_node_segment test/unit/test_node_stage
test_unit_test_node_memory_SOURCES = test/unit/test_node_memory.cc
test_unit_test_node_processes_SOURCES = test/unit/test_node_processes.cc $(node_members_sources) test/unit/node_team.h test/unit/open_descriptors.h
test_unit_test_node_segment_SOURCES = test/unit/test_node_segment.cc test/unit/node_team.h test/unit/open_descriptors.h
test_unit_test_node_stage_SOURCES = test/unit/test_node_stage.cc test/unit/test_node_failures.cc $(node_members_sources) test/unit/node_ways.h
