# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/ahead.h \
	%D%/best_rail.cc \
	%D%/busy.cc %D%/busy.h \
	%D%/earliest_finish.cc \
	%D%/early_store.cc %D%/early_store.h \
	%D%/failure.cc %D%/failure.h \
	%D%/flow.cc %D%/flow.h \
	%D%/gone_teams.h \
	%D%/preferred_lane.cc %D%/preferred_lane.h \
	%D%/cork.cc %D%/cork.h \
	%D%/block_ring.cc %D%/block_ring.h \
	%D%/lane_limits.cc %D%/lane_limits.h \
	%D%/lane_rate.cc %D%/lane_rate.h \
	%D%/punctuality.cc %D%/punctuality.h \
	%D%/lane_state.cc %D%/lane_state.h \
	%D%/pending_acks.h \
	%D%/piece.h \
	%D%/rail_load.cc %D%/rail_load.h \
	%D%/rail_notice.cc %D%/rail_notice.h \
	%D%/received_set.cc %D%/received_set.h \
	%D%/sent_log.cc %D%/sent_log.h \
	%D%/silence.cc %D%/silence.h \
	%D%/strategy.h \
	%D%/trunk.h %D%/trunk_ack.cc %D%/trunk_lanes.cc %D%/trunk_receive.cc %D%/trunk_send.cc \
	%D%/trunk_silence.cc \
	%D%/weighted.cc \
	%D%/wire.cc %D%/wire.h

gtest_programs += test/unit/test_lane_rate test/unit/test_punctuality test/unit/test_rail_notice test/unit/test_silence test/unit/test_strategy \
	test/unit/test_trunk_delivery test/unit/test_trunk_memory test/unit/test_trunk_parts test/unit/test_trunk_sending \
	test/unit/test_trunk_silence test/unit/test_trunk_window test/unit/test_wire
test_unit_test_lane_rate_SOURCES = test/unit/test_lane_rate.cc
test_unit_test_punctuality_SOURCES = test/unit/test_punctuality.cc
test_unit_test_rail_notice_SOURCES = test/unit/test_rail_notice.cc test/unit/trunk_pair.h
test_unit_test_silence_SOURCES = test/unit/test_silence.cc
test_unit_test_strategy_SOURCES = test/unit/test_strategy.cc test/unit/trunk_pair.h
test_unit_test_trunk_delivery_SOURCES = test/unit/test_trunk_delivery.cc test/unit/trunk_pair.h
test_unit_test_trunk_memory_SOURCES = test/unit/test_trunk_memory.cc test/unit/trunk_pair.h
test_unit_test_trunk_parts_SOURCES = test/unit/test_trunk_parts.cc
test_unit_test_trunk_sending_SOURCES = test/unit/test_trunk_sending.cc test/unit/trunk_pair.h
test_unit_test_trunk_silence_SOURCES = test/unit/test_trunk_silence.cc test/unit/trunk_pair.h
test_unit_test_trunk_window_SOURCES = test/unit/test_trunk_window.cc test/unit/trunk_pair.h
test_unit_test_wire_SOURCES = test/unit/test_wire.cc
