# SPDX-License-Identifier: BSD-3-Clause
# A library in place of NVIDIA's SHARP, which tests have Nezha open.
sharp_stub_sources = %D%/service_client.cc %D%/service_client.h %D%/stub.cc
EXTRA_DIST += $(sharp_stub_sources)
if HAVE_SHARP
check_LTLIBRARIES += %D%/stub.la
endif
test_sharp_stub_la_SOURCES = $(sharp_stub_sources)
test_sharp_stub_la_LIBADD = libnezha_engine.la
test_sharp_stub_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
