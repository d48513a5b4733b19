# SPDX-License-Identifier: BSD-3-Clause
# A library in place of NVIDIA's SHARP, which tests have Nezha open.
EXTRA_DIST += %D%/stub.cc
if HAVE_SHARP
check_LTLIBRARIES += %D%/stub.la
endif
test_sharp_stub_la_SOURCES = %D%/stub.cc
test_sharp_stub_la_LIBADD = libnezha_engine.la
test_sharp_stub_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
