# SPDX-License-Identifier: BSD-3-Clause
# Rails of libfabric, where its headers are. The library itself is loaded at run time.
ofi_sources = \
	%D%/discover.cc %D%/discover.h \
	%D%/library.cc %D%/library.h \
	%D%/msg_pair.cc %D%/msg_pair.h \
	%D%/msg_rail.cc %D%/msg_rail.h \
	%D%/ofi.cc %D%/ofi.h \
	%D%/ofi_address.cc %D%/ofi_address.h \
	%D%/ofi_nic.cc %D%/ofi_nic.h \
	%D%/ofi_rail.cc %D%/ofi_rail.h \
	%D%/poll_timer.cc %D%/poll_timer.h \
	%D%/rdm_addresses.cc %D%/rdm_addresses.h \
	%D%/rdm_rail.cc %D%/rdm_rail.h \
	%D%/rdm_stream.cc %D%/rdm_stream.h \
	%D%/rdm_wire.cc %D%/rdm_wire.h
EXTRA_DIST += $(ofi_sources)
if HAVE_OFI
engine_sources += $(ofi_sources)
gtest_programs += test/unit/test_msg_rail test/unit/test_ofi test/unit/test_ofi_nic test/unit/test_ofi_rdm test/unit/test_rdm_parts test/unit/test_rdm_rail
endif
test_unit_test_msg_rail_SOURCES = test/unit/test_msg_rail.cc test/unit/fake_msg_ofi.h test/unit/rdm_end.h
test_unit_test_ofi_SOURCES = \
	test/unit/test_ofi.cc test/unit/rail_contract.cc test/unit/ofi_world.h test/unit/rail_contract.h test/unit/tcp_pair.h \
	test/unit/random_bytes.h
test_unit_test_ofi_nic_SOURCES = test/unit/test_ofi_nic.cc test/unit/temporary_folder.h
test_unit_test_ofi_rdm_SOURCES = \
	test/unit/test_ofi_rdm.cc test/unit/rail_contract.cc test/unit/ofi_world.h test/unit/rail_contract.h test/unit/rdm_end.h \
	test/unit/tcp_pair.h test/unit/random_bytes.h
test_unit_test_rdm_parts_SOURCES = test/unit/test_rdm_parts.cc
test_unit_test_rdm_rail_SOURCES = test/unit/test_rdm_rail.cc test/unit/fake_ofi.h test/unit/in_children.h test/unit/rdm_end.h
