# SPDX-License-Identifier: BSD-3-Clause
# Rails over RDMA verbs, where libibverbs' header is. The library itself is loaded at run time.
verbs_sources = \
	%D%/verbs.cc %D%/verbs.h \
	%D%/verbs_device.cc %D%/verbs_device.h %D%/verbs_device_look.cc \
	%D%/verbs_interfaces.cc %D%/verbs_interfaces.h \
	%D%/verbs_kind.cc %D%/verbs_kind.h \
	%D%/verbs_library.cc %D%/verbs_library.h \
	%D%/verbs_options.h \
	%D%/verbs_pair.cc %D%/verbs_pair.h \
	%D%/verbs_place.cc %D%/verbs_place.h \
	%D%/verbs_queue.cc %D%/verbs_queue.h \
	%D%/verbs_receives.cc %D%/verbs_receives.h \
	%D%/verbs_regions.cc %D%/verbs_regions.h \
	%D%/verbs_request.h \
	%D%/verbs_words.cc %D%/verbs_words.h
EXTRA_DIST += $(verbs_sources)
if HAVE_VERBS
engine_sources += $(verbs_sources)
gtest_programs += test/unit/test_verbs test/unit/test_verbs_addresses test/unit/test_verbs_interfaces test/unit/test_verbs_pairs \
	test/unit/test_verbs_regions test/unit/test_verbs_sharing
endif
test_unit_test_verbs_SOURCES = test/unit/test_verbs.cc
test_unit_test_verbs_addresses_SOURCES = test/unit/test_verbs_addresses.cc test/unit/fake_verbs.h test/unit/temporary_folder.h
test_unit_test_verbs_interfaces_SOURCES = test/unit/test_verbs_interfaces.cc test/unit/temporary_folder.h
verbs_pairs_case = test/unit/fake_verbs.h test/unit/trunk_pair.h test/unit/verbs_pairs_case.h
test_unit_test_verbs_pairs_SOURCES = test/unit/test_verbs_pairs.cc test/unit/temporary_folder.h $(verbs_pairs_case)
test_unit_test_verbs_regions_SOURCES = test/unit/test_verbs_regions.cc
test_unit_test_verbs_sharing_SOURCES = test/unit/test_verbs_sharing.cc $(verbs_pairs_case)
