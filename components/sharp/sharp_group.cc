// SPDX-License-Identifier: BSD-3-Clause
#include "sharp/sharp_group.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <utility>
#include <vector>

#include "sharp/sharp_library.h"
#include "sharp/sharp_types.h"

namespace nezha {
namespace {

/// Whole pages, because memory is registered by pages.
constexpr std::size_t kPage = 64 * 1024;

/// What the library may go on to use until the process ends. Never freed, and never lost.
void keep(std::initializer_list<void*> things) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<void*>;
  const std::lock_guard lock(mutex);
  kept->insert(kept->end(), things);
}

}  // namespace

SharpGroup::~SharpGroup() {
  close();
  if (request_ != nullptr) keep({context_, comm_, request_, memory_});
}

Status SharpGroup::failed(const char* what, int error) const {
  const char* const why = functions_.strerror(error);
  return {Code::io, std::string(what) + ": " + (why != nullptr ? why : "no reason is known") + " (" + std::to_string(error) + ")"};
}

Status SharpGroup::open(const Spec& spec) {
  if (Status status = open_sharp_library(spec.library, functions_); !status.ok()) return status;
  sharp_api::InitSpec init{};
  init.job_id = spec.job_id;
  init.world_rank = spec.rank;
  init.world_size = spec.size;
  init.config = *functions_.default_config;
  init.oob_colls = spec.out_of_band;
  init.oob_ctx = spec.out_of_band_ctx;
  init.enable_thread_support = 1;  // communicators have groups of their own, and calls on them may come from several threads
  if (const int error = functions_.init(&init, &context_); error < 0) {
    context_ = nullptr;
    return failed("sharp_coll_init", error);
  }
  if (const int error = functions_.caps_query(context_, &caps_); error < 0) return failed("sharp_coll_caps_query", error);
  sharp_api::CommSpec comm{};
  comm.rank = spec.rank;
  comm.size = spec.size;
  comm.oob_ctx = spec.out_of_band_ctx;
  if (const int error = functions_.comm_init(context_, &comm, &comm_); error < 0) {
    comm_ = nullptr;
    return failed("sharp_coll_comm_init", error);
  }
  return {};
}

/// One memory for contribution and result: the library promises no more than one registration at a time.
Status SharpGroup::reserve(std::size_t size) {
  if (size <= size_) return {};
  release_memory();
  const std::size_t rounded = (size + kPage - 1) / kPage * kPage;
  memory_ = static_cast<std::byte*>(std::aligned_alloc(kPage, rounded));
  if (memory_ == nullptr) return {Code::no_memory, "no memory for a vector of " + std::to_string(size) + " bytes"};
  if (const int error = functions_.reg_mr(context_, memory_, rounded, &handle_); error < 0) {
    handle_ = nullptr;
    release_memory();
    return failed("sharp_coll_reg_mr", error);
  }
  size_ = rounded;
  return {};
}

void SharpGroup::release_memory() {
  if (handle_ != nullptr) functions_.dereg_mr(context_, std::exchange(handle_, nullptr));
  std::free(std::exchange(memory_, nullptr));
  size_ = 0;
}

Status SharpGroup::begin(std::span<const std::byte> from, nezha_type_t type, std::size_t element, nezha_op_t op) {
  if (Status status = reserve(from.size()); !status.ok()) return status;
  std::memcpy(memory_, from.data(), from.size());
  sharp_api::ReduceSpec spec{};
  spec.send.ptr = memory_;
  spec.send.length = from.size();
  spec.send.mem_handle = handle_;
  spec.recv = spec.send;
  spec.dtype = sharp_type(type);
  spec.tag_dtype = sharp_api::kNoType;
  spec.length = from.size() / element;
  spec.op = sharp_op(op);
  if (const int error = functions_.do_allreduce_nb(comm_, &spec, &request_); error < 0) {
    request_ = nullptr;
    return failed("sharp_coll_do_allreduce_nb", error);
  }
  return {};
}

Status SharpGroup::ended() {
  const int error = functions_.req_wait(std::exchange(request_, nullptr));
  return error < 0 ? failed("a sum of the SHARP library", error) : Status{};
}

void SharpGroup::take(std::span<std::byte> to) const { std::memcpy(to.data(), memory_, to.size()); }

void SharpGroup::close() {
  if (request_ != nullptr) return;
  if (comm_ != nullptr) functions_.comm_destroy(std::exchange(comm_, nullptr));
  release_memory();
  if (context_ != nullptr) functions_.finalize(std::exchange(context_, nullptr));
}

}  // namespace nezha
