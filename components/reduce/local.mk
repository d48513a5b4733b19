# SPDX-License-Identifier: BSD-3-Clause
# Reduction kernels: one source, compiled once per instruction set level, chosen at run time.
engine_sources += %D%/places.h %D%/reduce.cc %D%/reduce.h %D%/reducer.cc %D%/reducer.h

noinst_LTLIBRARIES += libnezha_kernels_baseline.la
engine_libadd += libnezha_kernels_baseline.la
libnezha_kernels_baseline_la_SOURCES = %D%/kernels.cc %D%/kernels.h
libnezha_kernels_baseline_la_CPPFLAGS = $(AM_CPPFLAGS) -DNEZHA_KERNEL_LEVEL=baseline

if NEZHA_X86
noinst_LTLIBRARIES += libnezha_kernels_avx2.la libnezha_kernels_avx512.la
engine_libadd += libnezha_kernels_avx2.la libnezha_kernels_avx512.la
libnezha_kernels_avx2_la_SOURCES = %D%/kernels.cc %D%/kernels.h
libnezha_kernels_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DNEZHA_KERNEL_LEVEL=avx2
libnezha_kernels_avx2_la_CXXFLAGS = $(own_cxxflags) -mavx2
libnezha_kernels_avx512_la_SOURCES = %D%/kernels.cc %D%/kernels.h
libnezha_kernels_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DNEZHA_KERNEL_LEVEL=avx512
libnezha_kernels_avx512_la_CXXFLAGS = $(own_cxxflags) -mavx512f -mavx512bw -mavx512dq -mavx512vl
endif

gtest_programs += test/unit/test_reduce
test_unit_test_reduce_SOURCES = test/unit/test_reduce.cc
