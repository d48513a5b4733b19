# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/status.cc %D%/status.h
#   gtest_programs += test/unit/test_status
#   test_unit_test_status_SOURCES = test/unit/test_status.cc
