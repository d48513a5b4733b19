// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_library.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "util/symbols.h"

namespace nezha {
namespace {

constexpr char kFile[] = "libibverbs.so.1";
constexpr int kForkUnneeded = 2;  ///< IBV_FORK_UNNEEDED, which older headers do not have

Status open_library(VerbsLibrary& verbs) {
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {Code::absent, std::string("libibverbs cannot be opened: ") + dlerror()};
  Symbols symbols(library);
  symbols.find("ibv_fork_init", verbs.fork_init);
  symbols.find("ibv_get_device_list", verbs.get_device_list);
  symbols.find("ibv_free_device_list", verbs.free_device_list);
  symbols.find("ibv_get_device_name", verbs.get_device_name);
  symbols.find("ibv_open_device", verbs.open_device);
  symbols.find("ibv_close_device", verbs.close_device);
  symbols.find("_ibv_query_gid_table", verbs.query_gid_table);
  symbols.find("ibv_query_device", verbs.query_device);
  symbols.find("ibv_alloc_pd", verbs.alloc_pd);
  symbols.find("ibv_dealloc_pd", verbs.dealloc_pd);
  symbols.find("ibv_reg_mr", verbs.reg_mr);
  symbols.find("ibv_dereg_mr", verbs.dereg_mr);
  symbols.find("ibv_create_comp_channel", verbs.create_comp_channel);
  symbols.find("ibv_destroy_comp_channel", verbs.destroy_comp_channel);
  symbols.find("ibv_create_cq", verbs.create_cq);
  symbols.find("ibv_resize_cq", verbs.resize_cq);
  symbols.find("ibv_destroy_cq", verbs.destroy_cq);
  symbols.find("ibv_get_cq_event", verbs.get_cq_event);
  symbols.find("ibv_ack_cq_events", verbs.ack_cq_events);
  symbols.find("ibv_create_srq", verbs.create_srq);
  symbols.find("ibv_destroy_srq", verbs.destroy_srq);
  symbols.find("ibv_create_qp", verbs.create_qp);
  symbols.find("ibv_modify_qp", verbs.modify_qp);
  symbols.find("ibv_destroy_qp", verbs.destroy_qp);
  symbols.find("ibv_get_async_event", verbs.get_async_event);
  symbols.find("ibv_ack_async_event", verbs.ack_async_event);
  symbols.find("ibv_event_type_str", verbs.event_type_str);
  symbols.find("ibv_wc_status_str", verbs.wc_status_str);
  if (!symbols.missing().empty()) return {Code::absent, std::string(kFile) + " has no " + symbols.missing() + ": it must be of rdma-core 32 or newer"};
  // Before anything is registered: a child of a process that forks would share, or lose, pages that the NIC writes to.
  if (const int error = verbs.fork_init(); error != 0)
    return {Code::absent, std::string("libibverbs cannot make memory safe for fork: ") + std::strerror(error)};
  const auto is_initialized = reinterpret_cast<int (*)()>(dlsym(library, "ibv_is_fork_initialized"));
  verbs.fork_hides_nothing = is_initialized != nullptr && is_initialized() == kForkUnneeded;
  return {};
}

}  // namespace

Status verbs_error(const char* what, int error) { return {Code::io, std::string(what) + ": " + std::strerror(error)}; }

const VerbsLibrary* load_verbs(Status& why) {
  static VerbsLibrary verbs;
  static const Status opened = open_library(verbs);
  why = opened;
  return opened.ok() ? &verbs : nullptr;
}

}  // namespace nezha
