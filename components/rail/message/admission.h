// SPDX-License-Identifier: BSD-3-Clause
/// A connection of messages on its way to become a lane: either side of the exchange in rail/proof.h, one message each.
#pragma once

#include <memory>
#include <string>

#include "rail/message/channel.h"
#include "rail/proof.h"
#include "rail/rail.h"

namespace nezha {

class MessageAdmission final : public MessageChannel::User {
 public:
  /// What becomes of it. From inside MessageKind::poll().
  class Host {
   public:
    /// Both sides know each other; the host takes the channel. Frames may come right after.
    virtual void admitted(MessageAdmission& admission) = 0;
    /// The connection is up: the other process has a while.
    virtual void connected(MessageAdmission& admission) = 0;
    /// The channel is closed.
    virtual void failed(MessageAdmission& admission, const Status& why) = 0;

   protected:
    ~Host() = default;
  };

  /// `connecting`: the side that speaks first; then `spec` is whole, else it has the local rail alone. `rail` is the kind's.
  MessageAdmission(bool connecting, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline, ProcessId self,
                   const Admission& admission, Host& host, std::unique_ptr<MessageChannel> channel);

  Status start() { return channel_->start(*this); }
  std::unique_ptr<MessageChannel> take_channel() { return std::move(channel_); }
  void close() {
    if (channel_) channel_->close();
  }

  bool connecting() const { return connecting_; }
  const LaneSpec& spec() const { return spec_; }
  std::size_t rail() const { return rail_; }
  const std::string& peer() const { return peer_; }
  Nanoseconds deadline = 0;
  bool over = false;  ///< admitted, failed or given up: to be swept

 private:
  enum class Step { connection, hello, challenge, proof, welcome, none };  ///< what is awaited

  void opened() override;
  Status message(MessageType type, std::span<const std::byte> body) override;
  void room() override {}
  void lost(const Status& why) override { host_.failed(*this, why); }

  Status say_hello();
  Status answer_hello(std::span<const std::byte> body);
  Status answer_challenge(std::span<const std::byte> body);
  Status check_proof(std::span<const std::byte> body);
  Status send(MessageType type, std::span<const std::byte> body);

  const bool connecting_;
  LaneSpec spec_;
  const std::size_t rail_;
  const std::string peer_;
  const ProcessId self_;
  const Admission& admission_;
  Host& host_;
  std::unique_ptr<MessageChannel> channel_;
  Step step_;
  HelloBytes hello_{};
  Nonce accepting_nonce_{};
};

}  // namespace nezha
