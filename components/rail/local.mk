# SPDX-License-Identifier: BSD-3-Clause
# The rail contract and what transports share.
engine_sources += \
	%D%/frame.cc %D%/frame.h \
	%D%/frame_reader.cc %D%/frame_reader.h \
	%D%/handshake.cc %D%/handshake.h \
	%D%/pairing.cc %D%/pairing.h \
	%D%/proof.cc %D%/proof.h \
	%D%/rail.h \
	%D%/rail_address.cc %D%/rail_address.h

gtest_programs += test/unit/test_frame test/unit/test_handshake test/unit/test_pairing test/unit/test_rail_contract
test_unit_test_frame_SOURCES = test/unit/test_frame.cc test/unit/no_lane.h
test_unit_test_handshake_SOURCES = test/unit/test_handshake.cc
test_unit_test_pairing_SOURCES = test/unit/test_pairing.cc
test_unit_test_rail_contract_SOURCES = \
	test/unit/test_rail_contract.cc test/unit/rail_contract.cc test/unit/rail_contract.h test/unit/message_pair.h test/unit/tcp_pair.h \
	test/unit/random_bytes.h
test_unit_test_rail_contract_LDADD = libnezha_sim.la $(LDADD)
