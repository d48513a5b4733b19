# SPDX-License-Identifier: BSD-3-Clause
# What rails over whole messages have in common.
engine_sources += \
	%D%/admission.cc %D%/admission.h \
	%D%/channel.cc %D%/channel.h \
	%D%/message.cc %D%/message.h \
	%D%/message_lane.cc %D%/message_lane.h \
	%D%/message_transport.cc %D%/message_transport.h \
	%D%/options.h \
	%D%/pages.cc %D%/pages.h \
	%D%/queue_pair.h

gtest_programs += test/unit/test_message_admission test/unit/test_message_lane test/unit/test_message_lending test/unit/test_message_sharing
test_unit_test_message_admission_SOURCES = test/unit/test_message_admission.cc test/unit/message_pair.h test/unit/random_bytes.h
test_unit_test_message_lane_SOURCES = \
	test/unit/test_message_lane.cc test/unit/in_children.h test/unit/message_pair.h test/unit/random_bytes.h
test_unit_test_message_lending_SOURCES = test/unit/test_message_lending.cc test/unit/message_pair.h test/unit/random_bytes.h
test_unit_test_message_sharing_SOURCES = test/unit/test_message_sharing.cc test/unit/message_pair.h test/unit/random_bytes.h
