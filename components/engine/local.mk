# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/abi.cc \
	%D%/address.cc %D%/address.h \
	%D%/core.cc %D%/core.h \
	%D%/engine.cc %D%/engine.h \
	%D%/handles.h \
	%D%/notices.h \
	%D%/peer.h \
	%D%/sampling.cc %D%/sampling.h \
	%D%/secret.cc %D%/secret.h \
	%D%/service.cc \
	%D%/team.cc %D%/team.h \
	%D%/transports.cc %D%/transports.h \
	%D%/wiring.cc %D%/wiring.h

gtest_programs += test/unit/test_plan
test_unit_test_plan_SOURCES = test/unit/test_plan.cc
