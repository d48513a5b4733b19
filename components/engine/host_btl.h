// SPDX-License-Identifier: BSD-3-Clause
/// The host's byte transfer layers, behind its function table. The engine's service thread may not send by them.
#pragma once

#include <thread>

#include "nezha/nezha.h"
#include "rail/btl/host_messages.h"

namespace nezha {

class HostBtl final : public HostMessages {
 public:
  explicit HostBtl(const nezha_host_t& host) : host_(host) {}

  bool there() const { return host_.send != nullptr; }
  void keep_out(std::thread::id service) { service_ = service; }

  bool may_send() const override { return std::this_thread::get_id() != service_; }
  Taken send(std::size_t rail, std::uint32_t job_rank, std::span<const std::byte> head,
             std::span<const std::byte> body) override {
    const int status = host_.send(host_.ctx, static_cast<unsigned>(rail), job_rank, head.data(), head.size(), body.data(), body.size());
    return status == NEZHA_OK ? Taken::yes : status == NEZHA_PENDING ? Taken::later : Taken::never;
  }

 private:
  const nezha_host_t host_;
  std::thread::id service_;
};

}  // namespace nezha
