# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/trunk.cc %D%/trunk.h
#   gtest_programs += test/unit/test_trunk
#   test_unit_test_trunk_SOURCES = test/unit/test_trunk.cc
