# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/aggregator_list.cc %D%/aggregator_list.h \
	%D%/at_exit.h \
	%D%/buffer_pool.cc %D%/buffer_pool.h \
	%D%/byte_stream.h \
	%D%/bytes.h \
	%D%/carrier.h \
	%D%/clock.h \
	%D%/collective.cc %D%/collective.h \
	%D%/core_list.cc %D%/core_list.h \
	%D%/crc32c.cc %D%/crc32c.h \
	%D%/epoll.h \
	%D%/fd.h \
	%D%/file.cc %D%/file.h \
	%D%/file_lock.cc %D%/file_lock.h \
	%D%/hmac.cc %D%/hmac.h \
	%D%/interface_list.cc %D%/interface_list.h \
	%D%/ip_version.h \
	%D%/json.cc %D%/json.h \
	%D%/log.cc %D%/log.h \
	%D%/nearest_word.cc %D%/nearest_word.h \
	%D%/params.cc %D%/params.h \
	%D%/pci_device.cc %D%/pci_device.h \
	%D%/port_range.cc %D%/port_range.h \
	%D%/rail_set.h \
	%D%/random.cc %D%/random.h \
	%D%/share_list.cc %D%/share_list.h \
	%D%/status.h \
	%D%/symbols.h \
	%D%/text.cc %D%/text.h \
	%D%/unmapped.cc %D%/unmapped.h

gtest_programs += test/unit/test_buffer_pool test/unit/test_pci_device test/unit/test_util test/unit/test_util_json \
	test/unit/test_util_file test/unit/test_util_lists test/unit/test_util_params test/unit/test_util_unmapped
test_unit_test_buffer_pool_SOURCES = test/unit/test_buffer_pool.cc test/unit/count_allocations.cc test/unit/count_allocations.h
test_unit_test_pci_device_SOURCES = test/unit/test_pci_device.cc test/unit/temporary_folder.h
test_unit_test_util_SOURCES = test/unit/test_util.cc
test_unit_test_util_json_SOURCES = test/unit/test_util_json.cc
test_unit_test_util_file_SOURCES = test/unit/test_util_file.cc test/unit/temporary_folder.h
test_unit_test_util_lists_SOURCES = test/unit/test_util_lists.cc
test_unit_test_util_unmapped_SOURCES = test/unit/test_util_unmapped.cc
test_unit_test_util_params_SOURCES = test/unit/test_util_params.cc
