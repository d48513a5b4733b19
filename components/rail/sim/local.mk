# SPDX-License-Identifier: BSD-3-Clause
# Sources of this layer, headers too, and its unit tests:
#   engine_sources += %D%/sim.cc %D%/sim.h
#   gtest_programs += test/unit/test_sim
#   test_unit_test_sim_SOURCES = test/unit/test_sim.cc
