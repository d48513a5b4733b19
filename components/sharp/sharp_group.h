// SPDX-License-Identifier: BSD-3-Clause
/// One communicator's group in the SHARP library: a context and a communicator of its own, and memory in which it reduces.
/// Vectors are copied there and back. So the library never touches the caller's memory, also where it does not end an
/// operation that nobody waits for any more, and the contribution is still there when the rails have to carry it.
///
/// One call at a time, from any thread, without the engine's lock unless said otherwise: the library may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "nezha/nezha.h"
#include "sharp/sharp_api.h"
#include "util/status.h"

namespace nezha {

class SharpGroup {
 public:
  struct Spec {
    std::string library;  ///< see open_sharp_library()
    std::uint64_t job_id = 0;
    int rank = 0, size = 0;
    sharp_api::OutOfBand out_of_band{};
    void* out_of_band_ctx = nullptr;  ///< as long as open() runs
  };

  SharpGroup() = default;
  ~SharpGroup();
  SharpGroup(const SharpGroup&) = delete;
  SharpGroup& operator=(const SharpGroup&) = delete;

  /// Collective over the group's members; calls `out_of_band` on this thread.
  Status open(const Spec& spec);
  /// Bits 1 << DataType and 1 << ReduceOp that the library has. Once open.
  std::uint64_t types() const { return caps_.support_mask.dtypes; }
  std::uint64_t ops() const { return caps_.support_mask.reduce_ops; }

  /// Begins the reduction of `from`, which is copied. Elements of `type`, which types() has. Collective.
  Status begin(std::span<const std::byte> from, nezha_type_t type, std::size_t element, nezha_op_t op);
  bool under_way() const { return request_ != nullptr; }
  /// It is over; then ended() tells how. Does not block, and may be called with the engine's lock.
  bool over() { return request_ == nullptr || functions_.req_test(request_) != 0; }
  Status ended();
  /// The result of what has ended.
  void take(std::span<std::byte> to) const;

  /// Leaves the library. Where an operation is still under way nothing is given back, its memory included, because the
  /// library may go on to use it.
  void close();

 private:
  Status reserve(std::size_t size);
  void release_memory();
  Status failed(const char* what, int error) const;

  sharp_api::Functions functions_{};
  sharp_api::Context* context_ = nullptr;
  sharp_api::Comm* comm_ = nullptr;
  sharp_api::Caps caps_{};
  void* request_ = nullptr;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  void* handle_ = nullptr;  ///< of the memory, to the library
};

}  // namespace nezha
