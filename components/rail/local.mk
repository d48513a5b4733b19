# SPDX-License-Identifier: BSD-3-Clause
# The rail contract and what transports share.
engine_sources += \
	%D%/frame.cc %D%/frame.h \
	%D%/frame_reader.cc %D%/frame_reader.h \
	%D%/pairing.cc %D%/pairing.h \
	%D%/proof.cc %D%/proof.h \
	%D%/rail.h

gtest_programs += test/unit/test_frame test/unit/test_pairing
test_unit_test_frame_SOURCES = test/unit/test_frame.cc test/unit/no_lane.h
test_unit_test_pairing_SOURCES = test/unit/test_pairing.cc
