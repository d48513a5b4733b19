// SPDX-License-Identifier: BSD-3-Clause
/// An admitted connection of messages as a lane. Frames are written one behind the other into the bodies of messages, which are
/// memory of the lane's own on both sides, and copied from there to their places while the message is handed over: redirect()
/// takes effect at once. Large payloads can be lent instead of copied where the kind registers memory (Lent): then a NIC reads
/// them from where they lie. Nothing is written but the lane's own memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "rail/frame.h"
#include "rail/frame_reader.h"
#include "rail/message/channel.h"
#include "rail/rail.h"

namespace nezha {

class MessageLane final : public Lane, public MessageChannel::User {
 public:
  /// `bin` is for what nobody wants. `text` names rails and peer, for messages.
  MessageLane(const LaneSpec& spec, std::unique_ptr<MessageChannel> channel, std::string text, const MessageOptions& options,
              const Clock& clock, std::span<std::byte> bin);

  void set_events(LaneEvents& events) { events_ = &events; }
  const std::string& text() const { return text_; }
  bool sending() const { return channel_->open() && channel_->sending() != 0; }

  Sent send(std::span<const std::byte> header, std::span<const Gather> payload) override;
  bool busy() const override { return rest_count_ > 0; }
  void own_rest() override;
  bool reads(std::span<const std::byte> bytes) const override { return channel_->reads(bytes); }
  void redirect(std::size_t segment) override { reader_.redirect(segment); }
  std::size_t fill() override;
  Nanoseconds min_rtt() override;
  LanePulse pulse() override;
  Answers answers() const override { return options_.answer_time != 0 ? Answers::process : Answers::call; }
  void close() override;

  std::size_t index = 0;  ///< in the transport's list

 private:
  void opened() override {}
  Status message(MessageType type, std::span<const std::byte> body) override;
  void room() override;
  void lost(const Status& why) override;

  std::span<Gather> rest() { return std::span(rest_).subspan(rest_at_, rest_count_); }
  void write_rest();
  std::size_t fill_message(std::span<std::byte> body, Lent& lent);
  bool may_lend(const Gather& part) const;
  Lent lend(const Gather& part, std::size_t room);
  void advance(std::size_t size);

  const MessageOptions& options_;
  const Clock& clock_;
  const std::unique_ptr<MessageChannel> channel_;
  const std::string text_;
  LaneEvents* events_ = nullptr;
  FrameReader reader_;

  /// The frame being sent, as in TcpLane.
  std::array<std::byte, kEnvelopeSize + kMaxFrameHeader> out_;
  std::array<Gather, 1 + kMaxFrameSegments> rest_;
  std::size_t rest_at_ = 0, rest_count_ = 0;
  std::unique_ptr<std::byte[]> owned_;
};

}  // namespace nezha
