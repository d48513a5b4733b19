# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/abi.cc \
	%D%/address.cc %D%/address.h \
	%D%/affinity.cc %D%/affinity.h \
	%D%/near_rails.cc %D%/near_rails.h \
	%D%/agreed_kinds.h \
	%D%/block_vectors.cc %D%/block_vectors.h %D%/columns.cc %D%/columns.h %D%/combine.h \
	%D%/core.cc %D%/core.h %D%/core_arrivals.cc %D%/core_life.cc %D%/core_rails.cc \
	%D%/core_setup.cc %D%/core_shared.cc %D%/core_star.cc %D%/core_tables.cc %D%/core_vote.cc \
	%D%/cpu_quota.cc %D%/cpu_quota.h \
	%D%/descriptors.cc %D%/descriptors.h %D%/detached_thread.h \
	%D%/engine.cc %D%/engine.h %D%/engine_carry.cc %D%/engine_operate.cc \
	%D%/engine_requests.cc %D%/engine_rest.cc %D%/engine_sharp.cc %D%/engine_stats.cc \
	%D%/task_queue.cc %D%/task_queue.h \
	%D%/handles.h \
	%D%/host_btl.h \
	%D%/hierarchy.cc %D%/hierarchy.h %D%/hierarchy_track.cc %D%/hierarchy_track.h \
	%D%/lane_watcher.h \
	%D%/links.cc %D%/links.h \
	%D%/marked_set.h \
	%D%/memory.cc %D%/memory.h \
	%D%/notices.h \
	%D%/operation.cc %D%/operation.h %D%/operation_carrier.cc %D%/operation_carrier.h \
	%D%/operations.cc %D%/operations.h \
	%D%/peer.h %D%/ranks_by_node.h %D%/ready_teams.h %D%/unsampled.h \
	%D%/request.h %D%/requests.cc %D%/requests.h \
	%D%/sampling.cc %D%/sampling.h \
	%D%/secret.cc %D%/secret.h \
	%D%/service.cc %D%/service_tasks.cc %D%/service_tasks.h \
	%D%/sharp_opening.cc %D%/sharp_opening.h \
	%D%/sharp_way.cc %D%/sharp_way.h \
	%D%/signals_blocked.h \
	%D%/table_files.cc %D%/table_files.h \
	%D%/team.cc %D%/team.h %D%/team_agreement.cc \
	%D%/topology.cc %D%/topology.h \
	%D%/trace.cc %D%/trace.h \
	%D%/transports.cc %D%/transports.h \
	%D%/wiring.cc %D%/wiring.h \
	%D%/worker_plan.cc %D%/worker_plan.h \
	%D%/worker_thread.cc %D%/worker_thread.h \
	%D%/workers.cc %D%/workers.h

gtest_programs += test/unit/test_affinity test/unit/test_carriers test/unit/test_columns test/unit/test_core test/unit/test_core_rails test/unit/test_cpu_quota test/unit/test_near_rails test/unit/test_operations test/unit/test_plan test/unit/test_secret test/unit/test_team test/unit/test_trace test/unit/test_wiring \
	test/unit/test_wiring_loopback test/unit/test_wiring_patience test/unit/test_workers
test_unit_test_affinity_SOURCES = test/unit/test_affinity.cc
test_unit_test_near_rails_SOURCES = test/unit/test_near_rails.cc test/unit/temporary_folder.h
test_unit_test_carriers_SOURCES = test/unit/test_carriers.cc test/unit/cluster.h $(node_members_sources)
test_unit_test_carriers_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_columns_SOURCES = test/unit/test_columns.cc
test_unit_test_core_SOURCES = test/unit/test_core.cc test/unit/test_core_memory.cc test/unit/core_case.h test/unit/trunk_pair.h
test_unit_test_core_rails_SOURCES = test/unit/test_core_rails.cc test/unit/core_case.h test/unit/trunk_pair.h
test_unit_test_cpu_quota_SOURCES = test/unit/test_cpu_quota.cc test/unit/temporary_folder.h
test_unit_test_operations_SOURCES = test/unit/test_operations.cc test/unit/cluster.h
test_unit_test_operations_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_secret_SOURCES = test/unit/test_secret.cc
test_unit_test_trace_SOURCES = test/unit/test_trace.cc test/unit/small_files.h
test_unit_test_plan_SOURCES = test/unit/test_plan.cc
test_unit_test_team_SOURCES = test/unit/test_team.cc
test_unit_test_wiring_SOURCES = test/unit/test_wiring.cc test/unit/trunk_pair.h test/unit/wiring_case.h
test_unit_test_wiring_loopback_SOURCES = test/unit/test_wiring_loopback.cc test/unit/trunk_pair.h test/unit/wiring_case.h
test_unit_test_wiring_patience_SOURCES = test/unit/test_wiring_patience.cc test/unit/trunk_pair.h test/unit/wiring_case.h
test_unit_test_workers_SOURCES = test/unit/test_workers.cc
