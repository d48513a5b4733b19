# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/algorithm.h %D%/algorithms.cc \
	%D%/call.h \
	%D%/dissemination.cc \
	%D%/doubling.cc %D%/doubling_partners.h \
	%D%/halving.cc \
	%D%/layout.h \
	%D%/mesh.cc \
	%D%/neighbours.cc %D%/neighbours.h \
	%D%/ring.cc \
	%D%/single_step.cc \
	%D%/star.cc %D%/star.h \
	%D%/star_center.cc \
	%D%/star_chunks.h %D%/star_cover.h \
	%D%/star_climb.cc \
	%D%/star_fold.cc %D%/star_fold.h \
	%D%/star_layout.h \
	%D%/star_leaf.cc \
	%D%/star_rooms.h \
	%D%/star_upstream.cc \
	%D%/star_whole.cc \
	%D%/values.h

gtest_programs += test/unit/test_algorithms test/unit/test_differing_calls test/unit/test_neighbours \
	test/unit/test_sibling_costs test/unit/test_siblings
test_unit_test_algorithms_SOURCES = test/unit/test_algorithms.cc test/unit/cluster.h
test_unit_test_algorithms_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_differing_calls_SOURCES = test/unit/test_differing_calls.cc test/unit/cluster.h
test_unit_test_differing_calls_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_neighbours_SOURCES = test/unit/test_neighbours.cc test/unit/cluster.h
test_unit_test_neighbours_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_sibling_costs_SOURCES = test/unit/test_sibling_costs.cc test/unit/cluster.h test/unit/sibling_job.h
test_unit_test_sibling_costs_LDADD = libnezha_sim.la $(LDADD)
test_unit_test_siblings_SOURCES = test/unit/test_siblings.cc test/unit/cluster.h test/unit/sibling_job.h
test_unit_test_siblings_LDADD = libnezha_sim.la $(LDADD)
