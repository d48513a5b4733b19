# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/tcp.cc %D%/tcp.h
#   gtest_programs += test/unit/test_tcp
#   test_unit_test_tcp_SOURCES = test/unit/test_tcp.cc
