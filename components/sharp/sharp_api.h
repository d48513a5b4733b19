// SPDX-License-Identifier: BSD-3-Clause
/// What Nezha uses of the C interface of NVIDIA's SHARP library, libsharp_coll.so.5, in the layout of SHARP 3 (2023). Written for
/// Nezha from the public description of that interface, so that a build needs no SHARP. Names are Nezha's own; each comment
/// names the function or type that is meant. A function returns 0 or a negative error unless the comment says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nezha::sharp_api {

struct Context;  ///< sharp_coll_context
struct Comm;     ///< sharp_coll_comm

/// enum sharp_datatype
enum DataType : int { kUint32, kInt32, kUint64, kInt64, kFloat, kDouble, kUint16, kInt16, kHalf, kBfloat16, kUint8, kInt8, kNoType };
/// enum sharp_reduce_op
enum ReduceOp : int { kMax, kMin, kSum, kProd, kLand, kBand, kLor, kBor, kLxor, kBxor, kMaxLoc, kMinLoc, kNoOp };

constexpr int kSuccess = 0, kError = -1, kOutOfBandError = -15;

/// sharp_coll_config; sharp_coll_default_config is one.
struct Config {
  const char* ib_dev_list;
  int user_progress_num_polls;
  int coll_timeout;  ///< ms; -1: none
  std::uint32_t flags;
  int reserved[3];
};

/// sharp_coll_out_of_band_colls: collectives of the caller, which the library calls inside init and comm_init. They may block.
struct OutOfBand {
  int (*bcast)(void* context, void* buffer, int size, int root);
  int (*barrier)(void* context);
  int (*gather)(void* context, int root, void* send, void* recv, int size);  ///< recv: of the root, size bytes of each
};

/// sharp_coll_init_spec
struct InitSpec {
  std::uint64_t job_id;
  int world_rank;
  int world_size;
  int (*progress_func)();
  int group_channel_idx;
  Config config;
  OutOfBand oob_colls;
  int world_local_rank;
  int enable_thread_support;
  void* oob_ctx;
  int reserved[4];
};

/// sharp_coll_comm_init_spec
struct CommSpec {
  int rank;
  int size;
  void* oob_ctx;
  const std::uint32_t* group_world_ranks;
  int reserved[2];
};

/// sharp_coll_caps
struct Caps {
  int sharp_pkt_version;
  std::uint64_t reserved[2];
  struct {
    std::uint64_t dtypes, tag_dtypes, reduce_ops, feature_mask;  ///< bit 1 << DataType, ReduceOp
    std::uint64_t reserved[4];
  } support_mask;
  struct {
    int max_osts, user_data_per_ost, max_groups, max_group_channels, osts_per_group;
  } resources;
};

/// sharp_coll_data_desc of a contiguous buffer in host memory: type and mem_type are 0. The union's other member is not used.
struct Buffer {
  int type;
  int mem_type;
  int reserved[2];
  void* ptr;
  std::size_t length;
  void* mem_handle;
};

/// sharp_coll_reduce_spec
struct ReduceSpec {
  int root;
  Buffer send, recv;
  DataType dtype;
  std::size_t length;  ///< elements
  ReduceOp op;
  DataType tag_dtype;
  int aggr_mode;  ///< 0: the library chooses
  int stream_lock_batch_size;
  std::size_t offset;
  int reserved[2];
};

static_assert(sizeof(Config) == 32 && sizeof(InitSpec) == 120 && sizeof(CommSpec) == 32);
static_assert(sizeof(Caps) == 112 && sizeof(Buffer) == 40 && sizeof(ReduceSpec) == 136);

/// The functions, by their names without sharp_coll_.
struct Functions {
  int (*init)(InitSpec* spec, Context** context);
  int (*finalize)(Context* context);
  int (*caps_query)(Context* context, Caps* caps);
  int (*comm_init)(Context* context, CommSpec* spec, Comm** comm);
  int (*comm_destroy)(Comm* comm);
  int (*do_allreduce_nb)(Comm* comm, ReduceSpec* spec, void** request);
  int (*req_test)(void* request);  ///< not 0: it is over. Makes progress, does not block
  int (*req_wait)(void* request);  ///< its result; frees it
  int (*reg_mr)(Context* context, void* buffer, std::size_t size, void** handle);
  int (*dereg_mr)(Context* context, void* handle);
  const char* (*strerror)(int error);
  const Config* default_config;
};

}  // namespace nezha::sharp_api
