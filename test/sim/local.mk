# SPDX-License-Identifier: BSD-3-Clause
# The trunk on the simulated rail with a virtual clock:
#   gtest_programs += %D%/test_trunk_sim
#   test_sim_test_trunk_sim_SOURCES = %D%/test_trunk_sim.cc
