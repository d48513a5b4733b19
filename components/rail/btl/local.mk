# SPDX-License-Identifier: BSD-3-Clause
# Rails over the host's own byte transfer layers.
engine_sources += \
	%D%/btl_head.cc %D%/btl_head.h \
	%D%/btl_kind.cc %D%/btl_kind.h \
	%D%/btl_pair.cc %D%/btl_pair.h \
	%D%/host_messages.cc %D%/host_messages.h

gtest_programs += test/unit/test_btl
test_unit_test_btl_SOURCES = test/unit/test_btl.cc test/unit/btl_pair_of_hosts.h test/unit/random_bytes.h
