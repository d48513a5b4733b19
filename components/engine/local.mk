# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/team.cc %D%/team.h
#   gtest_programs += test/unit/test_team
#   test_unit_test_team_SOURCES = test/unit/test_team.cc
