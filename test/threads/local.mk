# SPDX-License-Identifier: BSD-3-Clause
# Ranks as threads of one process over loopback. A test that brings its own main goes to plain_programs instead.
ranks_sources = %D%/ranks.cc %D%/ranks.h %D%/kinds.cc %D%/kinds.h

gtest_programs += %D%/test_allreduce
test_threads_test_allreduce_SOURCES = %D%/test_allreduce.cc %D%/matrix.cc %D%/matrix.h $(ranks_sources)
