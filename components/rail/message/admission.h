// SPDX-License-Identifier: BSD-3-Clause
/// A connection of messages on its way to become a lane: either side of the exchange in rail/handshake.h, one message each.
#pragma once

#include <memory>
#include <string>

#include "rail/message/channel.h"
#include "rail/handshake.h"
#include "rail/rail.h"

namespace nezha {

class MessageAdmission final : public MessageChannel::User {
 public:
  /// What becomes of it. From inside MessageKind::poll().
  class Host {
   public:
    /// Both sides know each other; the host takes the channel. Frames may come right after.
    virtual void admitted(MessageAdmission& admission) = 0;
    /// The other side's kernel has answered, or the connection is up: the other process has a while.
    virtual void reached(MessageAdmission& admission) = 0;
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

  bool connecting() const { return talk_.connecting_side(); }
  /// See Handshake.
  bool has_said_hello() const { return talk_.has_said_hello(); }
  const LaneSpec& spec() const { return talk_.spec(); }
  std::size_t rail() const { return rail_; }
  const std::string& peer() const { return peer_; }
  Nanoseconds deadline = 0;
  bool over = false;  ///< admitted, failed or given up: to be swept

 private:
  void reached() override { host_.reached(*this); }
  void opened() override;
  Status message(MessageType type, std::span<const std::byte> body) override;
  void room() override {}
  void lost(const Status& why) override { host_.failed(*this, why); }

  Status answer(MessageType type);

  Handshake talk_;
  const std::size_t rail_;
  const std::string peer_;
  const Admission& admission_;
  Host& host_;
  std::unique_ptr<MessageChannel> channel_;
  MessageType awaited_ = MessageType::hello;
};

}  // namespace nezha
