# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/candidate.cc %D%/candidate.h \
	%D%/candidates.cc %D%/candidates.h \
	%D%/cost.cc %D%/cost.h \
	%D%/plan.cc %D%/plan.h \
	%D%/size_class.cc %D%/size_class.h \
	%D%/table.cc %D%/table.h

gtest_programs += test/unit/test_tuning
test_unit_test_tuning_SOURCES = test/unit/test_tuning.cc
