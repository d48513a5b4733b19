# SPDX-License-Identifier: BSD-3-Clause
# Rails of libfabric, where its headers are. The library itself is loaded at run time.
ofi_sources = \
	%D%/discover.cc %D%/discover.h \
	%D%/library.cc %D%/library.h \
	%D%/ofi.cc %D%/ofi.h \
	%D%/ofi_address.cc %D%/ofi_address.h \
	%D%/ofi_pair.cc %D%/ofi_pair.h \
	%D%/ofi_rail.cc %D%/ofi_rail.h
EXTRA_DIST += $(ofi_sources)
if HAVE_OFI
engine_sources += $(ofi_sources)
gtest_programs += test/unit/test_ofi
endif
test_unit_test_ofi_SOURCES = test/unit/test_ofi.cc test/unit/tcp_pair.h test/unit/random_bytes.h
