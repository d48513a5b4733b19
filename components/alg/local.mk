# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/ring.cc %D%/ring.h
#   gtest_programs += test/unit/test_ring
#   test_unit_test_ring_SOURCES = test/unit/test_ring.cc
