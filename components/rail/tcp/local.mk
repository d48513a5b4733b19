# SPDX-License-Identifier: BSD-3-Clause
# Rails over TCP.
engine_sources += \
	%D%/announcement.cc %D%/announcement.h \
	%D%/discover.cc %D%/discover.h \
	%D%/acceptor.cc %D%/acceptor.h %D%/acceptor_handshakes.cc %D%/acceptor_links.cc \
	%D%/interface.h %D%/options.h \
	%D%/link_task.h \
	%D%/link_table.cc %D%/link_table.h \
	%D%/link_watch.cc %D%/link_watch.h \
	%D%/send_task.cc %D%/send_task.h \
	%D%/socket.cc %D%/socket.h \
	%D%/system_interfaces.cc %D%/system_interfaces.h \
	%D%/tcp.h \
	%D%/tcp_handshake.cc %D%/tcp_handshake.h \
	%D%/tcp_place.cc %D%/tcp_place.h \
	%D%/tcp_lane.cc %D%/tcp_lane.h %D%/tcp_lane_worker.cc \
	%D%/tcp_transport.cc %D%/tcp_transport.h %D%/tcp_transport_links.cc

gtest_programs += test/unit/test_tcp_admission test/unit/test_tcp_announcement test/unit/test_tcp_discover \
	test/unit/test_tcp_lane test/unit/test_tcp_lane_cut test/unit/test_tcp_lane_memory test/unit/test_tcp_lane_pulse \
	test/unit/test_tcp_lane_worker test/unit/test_tcp_links test/unit/test_tcp_listeners
test_unit_test_tcp_admission_SOURCES = \
	test/unit/test_tcp_admission.cc test/unit/open_descriptors.h test/unit/tcp_through.h test/unit/tcp_pair.h
test_unit_test_tcp_announcement_SOURCES = test/unit/test_tcp_announcement.cc test/unit/tcp_pair.h
test_unit_test_tcp_discover_SOURCES = test/unit/test_tcp_discover.cc
test_unit_test_tcp_lane_SOURCES = test/unit/test_tcp_lane.cc test/unit/tcp_pair.h test/unit/random_bytes.h
test_unit_test_tcp_lane_cut_SOURCES = \
	test/unit/test_tcp_lane_cut.cc test/unit/tcp_through.h test/unit/tcp_pair.h test/unit/random_bytes.h
test_unit_test_tcp_lane_memory_SOURCES = \
	test/unit/test_tcp_lane_memory.cc test/unit/tcp_pair.h test/unit/random_bytes.h \
	test/unit/count_allocations.cc test/unit/count_allocations.h
test_unit_test_tcp_lane_pulse_SOURCES = \
	test/unit/test_tcp_lane_pulse.cc test/unit/tcp_through.h test/unit/tcp_pair.h test/unit/random_bytes.h
test_unit_test_tcp_lane_worker_SOURCES = \
	test/unit/test_tcp_lane_worker.cc test/unit/tcp_pair.h test/unit/random_bytes.h
test_unit_test_tcp_links_SOURCES = test/unit/test_tcp_links.cc test/unit/over_link.h test/unit/tcp_pair.h
test_unit_test_tcp_listeners_SOURCES = test/unit/test_tcp_listeners.cc test/unit/over_link.h test/unit/tcp_pair.h
