// SPDX-License-Identifier: BSD-3-Clause
/// libibverbs, opened when a verbs rail is wanted: the component runs where the library is not installed. What moves data is
/// inline in its header and needs no symbol.
#pragma once

#include <infiniband/verbs.h>

#include "util/status.h"

namespace nezha {

struct VerbsLibrary {
  decltype(&::ibv_fork_init) fork_init = nullptr;
  bool fork_hides_nothing = false;  ///< whatever is registered: Linux 5.12 copies such pages for a child, and rdma-core 35 knows it
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&::ibv_reg_mr) reg_mr = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_resize_cq) resize_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_get_async_event) get_async_event = nullptr;
  decltype(&::ibv_ack_async_event) ack_async_event = nullptr;
  decltype(&::ibv_event_type_str) event_type_str = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;
};

/// "WHAT: why", by an errno value.
Status verbs_error(const char* what, int error);

/// The library, which stays until the process ends, with memory that it registers made safe for fork(2); nullptr and the reason.
/// The caller holds the engine's lock.
const VerbsLibrary* load_verbs(Status& why);

}  // namespace nezha
