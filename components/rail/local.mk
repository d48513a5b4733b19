# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/frame.cc %D%/frame.h
#   gtest_programs += test/unit/test_frame
#   test_unit_test_frame_SOURCES = test/unit/test_frame.cc
