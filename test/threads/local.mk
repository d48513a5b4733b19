# SPDX-License-Identifier: BSD-3-Clause
# Ranks as threads of one process over loopback:
#   gtest_programs += %D%/test_ranks
#   test_threads_test_ranks_SOURCES = %D%/test_ranks.cc
# A test that brings its own main goes to plain_programs instead.
