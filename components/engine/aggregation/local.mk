# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/aggregated_carrier.cc %D%/aggregated_carrier.h \
	%D%/aggregation.cc %D%/aggregation.h %D%/aggregation_stars.cc \
	%D%/aggregator_key.cc %D%/aggregator_key.h \
	%D%/aggregator_server.cc %D%/aggregator_server.h \
	%D%/aggregators.cc %D%/aggregators.h \
	%D%/greeting.cc %D%/greeting.h \
	%D%/guests.h \
	%D%/hosted_star.cc %D%/hosted_star.h \
	%D%/inquiry.cc %D%/inquiry.h \
	%D%/lookup.cc %D%/lookup.h \
	%D%/service_rest.h \
	%D%/small_calls.cc %D%/small_calls.h \
	%D%/star.cc %D%/star.h \
	%D%/stars.cc %D%/stars.h

gtest_programs += test/unit/test_greetings test/unit/test_hosted_stars
test_unit_test_greetings_SOURCES = test/unit/test_greetings.cc test/unit/loopback.h test/unit/raw_client.h
test_unit_test_greetings_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_hosted_stars_SOURCES = test/unit/test_hosted_stars.cc test/unit/raw_client.h
test_unit_test_hosted_stars_LDADD = libnezha_sim.la $(LDADD)
gtest_programs += test/unit/test_aggregator_server
test_unit_test_aggregator_server_SOURCES = test/unit/test_aggregator_server.cc test/unit/loopback.h
gtest_programs += test/unit/test_hosted_memory
test_unit_test_hosted_memory_SOURCES = test/unit/test_hosted_memory.cc test/unit/raw_client.h
test_unit_test_hosted_memory_LDADD = libnezha_sim.la $(LDADD)
gtest_programs += test/unit/test_silent_clients
test_unit_test_silent_clients_SOURCES = test/unit/test_silent_clients.cc test/unit/raw_client.h
test_unit_test_silent_clients_LDADD = libnezha_sim.la $(LDADD)
gtest_programs += test/unit/test_service_rest
test_unit_test_service_rest_SOURCES = test/unit/test_service_rest.cc
gtest_programs += test/unit/test_stars
test_unit_test_stars_SOURCES = test/unit/test_stars.cc
gtest_programs += test/unit/test_star_layout
test_unit_test_star_layout_SOURCES = test/unit/test_star_layout.cc
gtest_programs += test/unit/test_star_sources
test_unit_test_star_sources_SOURCES = test/unit/test_star_sources.cc test/unit/raw_client.h
test_unit_test_star_sources_LDADD = libnezha_sim.la $(LDADD)

gtest_programs += test/unit/test_small_calls
test_unit_test_small_calls_SOURCES = test/unit/test_small_calls.cc test/unit/star_cluster.h
test_unit_test_small_calls_LDADD = libnezha_sim.la $(LDADD)
