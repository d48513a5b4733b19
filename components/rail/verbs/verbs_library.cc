// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_library.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace nezha {
namespace {

constexpr char kFile[] = "libibverbs.so.1";

/// What is missing is named in `missing`, the first of it.
template <typename Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

Status open_library(VerbsLibrary& verbs) {
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {Code::absent, std::string("libibverbs cannot be opened: ") + dlerror()};
  std::string missing;
  find(library, "ibv_fork_init", verbs.fork_init, missing);
  find(library, "ibv_get_device_list", verbs.get_device_list, missing);
  find(library, "ibv_free_device_list", verbs.free_device_list, missing);
  find(library, "ibv_get_device_name", verbs.get_device_name, missing);
  find(library, "ibv_open_device", verbs.open_device, missing);
  find(library, "ibv_close_device", verbs.close_device, missing);
  find(library, "_ibv_query_gid_table", verbs.query_gid_table, missing);
  find(library, "ibv_query_device", verbs.query_device, missing);
  find(library, "ibv_alloc_pd", verbs.alloc_pd, missing);
  find(library, "ibv_dealloc_pd", verbs.dealloc_pd, missing);
  find(library, "ibv_reg_mr", verbs.reg_mr, missing);
  find(library, "ibv_dereg_mr", verbs.dereg_mr, missing);
  find(library, "ibv_create_comp_channel", verbs.create_comp_channel, missing);
  find(library, "ibv_destroy_comp_channel", verbs.destroy_comp_channel, missing);
  find(library, "ibv_create_cq", verbs.create_cq, missing);
  find(library, "ibv_resize_cq", verbs.resize_cq, missing);
  find(library, "ibv_destroy_cq", verbs.destroy_cq, missing);
  find(library, "ibv_get_cq_event", verbs.get_cq_event, missing);
  find(library, "ibv_ack_cq_events", verbs.ack_cq_events, missing);
  find(library, "ibv_create_qp", verbs.create_qp, missing);
  find(library, "ibv_modify_qp", verbs.modify_qp, missing);
  find(library, "ibv_destroy_qp", verbs.destroy_qp, missing);
  find(library, "ibv_get_async_event", verbs.get_async_event, missing);
  find(library, "ibv_ack_async_event", verbs.ack_async_event, missing);
  find(library, "ibv_event_type_str", verbs.event_type_str, missing);
  find(library, "ibv_wc_status_str", verbs.wc_status_str, missing);
  if (!missing.empty()) return {Code::absent, std::string(kFile) + " has no " + missing + ": it must be of rdma-core 32 or newer"};
  // Before anything is registered: a child of a process that forks would share, or lose, pages that the NIC writes to.
  if (const int error = verbs.fork_init(); error != 0)
    return {Code::absent, std::string("libibverbs cannot make memory safe for fork: ") + std::strerror(error)};
  return {};
}

}  // namespace

const VerbsLibrary* load_verbs(Status& why) {
  static VerbsLibrary verbs;
  static const Status opened = open_library(verbs);
  why = opened;
  return opened.ok() ? &verbs : nullptr;
}

}  // namespace nezha
