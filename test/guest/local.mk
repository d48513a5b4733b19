# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder run in a guest with RDMA devices.
verbs_contract_sources = %D%/verbs_contract.cc test/unit/rail_contract.cc test/unit/rail_contract.h test/unit/tcp_pair.h test/unit/random_bytes.h
EXTRA_DIST += $(verbs_contract_sources)
if HAVE_VERBS
if HAVE_GTEST
check_PROGRAMS += %D%/verbs_contract
endif
endif
test_guest_verbs_contract_SOURCES = $(verbs_contract_sources)
