// SPDX-License-Identifier: BSD-3-Clause
/// One connection of messages with its memory: slots, credits, and acknowledgements by the other process. Each message tells
/// how many of the other side's were received and their slots posted again; no more are under way than it has posted. The last
/// credits are kept for messages without contents, so that an acknowledgement can always follow.
///
/// Frames that are sent during a poll share messages: one that is not full is held until the poll is over, because each message
/// costs a credit and the transport's system calls at both ends, however short it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rail/message/message.h"
#include "rail/message/options.h"
#include "rail/message/queue_pair.h"
#include "util/clock.h"
#include "util/status.h"

namespace nezha {

class MessageChannel;

/// Channels that want to be looked at once the poll is over. Outlives them.
struct ChannelNews {
  bool polling = false;                  ///< now; messages that are not full may be held
  bool admitting = false;                ///< now; what comes for lanes is kept
  std::vector<MessageChannel*> holding;  ///< flush()
  std::vector<MessageChannel*> owing;   ///< settle()
  std::vector<MessageChannel*> stuck;   ///< post_again()
  std::vector<MessageChannel*> broken;  ///< tell_broken()
  std::vector<MessageChannel*> keeping;  ///< deliver(), when that ends
};

class MessageChannel final : private QueuePairEvents {
 public:
  /// Whose messages they are.
  class User {
   public:
    /// See QueuePairEvents.
    virtual void reached() {}
    /// The connection is up.
    virtual void opened() = 0;
    /// A status that is not ok closes the channel for that reason. `body` is gone afterwards.
    virtual Status message(MessageType type, std::span<const std::byte> body) = 0;
    /// space() may have become something.
    virtual void room() = 0;
    /// The channel is closed: from ChannelNews::broken, once, and not after close().
    virtual void lost(const Status& why) = 0;

   protected:
    ~User() = default;
  };

  MessageChannel(std::unique_ptr<QueuePair> pair, const MessageOptions& options, std::size_t memory, const Clock& clock,
                 ChannelNews& news);
  ~MessageChannel() { close(); }
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;

  /// Posts the receives, then connects or accepts. Not ok: the channel is closed.
  Status start(User& user);
  /// The connection is a lane from here on.
  void set_lane(User& lane) {
    user_ = &lane;
    is_lane_ = true;
  }
  bool open() const { return state_ == State::open; }

  /// Where the next bytes of a body may be written; empty: there is no memory or no credit for them now.
  std::span<std::byte> space() const;
  /// Sends what was written to space(), with what comes next if that is soon.
  void send(MessageType type, std::size_t body) { send(type, body, {}); }
  /// See QueuePair.
  Lent lend(std::span<const std::byte> bytes, std::size_t reach) { return pair_->lend(bytes, reach); }
  /// The same with `lent` behind it, all of which space() would have had room for.
  void send(MessageType type, std::size_t body, Lent lent);
  /// What was lent of these bytes may still be read.
  bool reads(std::span<const std::byte> bytes) const;
  /// Has the other process answer at once, unless it has been asked already and not answered.
  void ask();
  /// Has it answer with what is sent next, if it was not asked for a while: for least_answer().
  void ask_now_and_then();
  /// No more events; afterwards no memory is read or written but the slots, which live as long as the transport needs them.
  void close();
  /// The same, and lost() follows.
  void fail(Status why);

  /// Messages that the other process is known to have received, and bytes of bodies that it is not.
  std::uint64_t acked() const { return acked_; }
  std::size_t unacked_bytes() const { return unacked_bytes_ + held_; }
  /// When something was last sent.
  Nanoseconds sent_at() const { return sent_at_; }
  /// When something last came.
  Nanoseconds heard_at() const { return heard_at_; }
  /// Between a question that nothing was in front of and its answer, likewise, the least so far; 0 = none yet.
  Nanoseconds least_answer() const { return least_answer_; }
  /// Within which an answer usually comes, by the last ones; 0 = none yet.
  Nanoseconds usual_answer() const { return mean_answer_ + 4 * deviation_; }
  /// Local sends whose memory the transport still reads.
  std::size_t sending() const { return slots_.sends - free_.size(); }

  void flush();
  void settle();
  void post_again();
  void tell_broken();
  void deliver();

 private:
  enum class State { open, broken, closed };
  static constexpr std::uint32_t kMostReceives = 1024;  ///< that the other side may claim
  static constexpr std::size_t kAtRest = 2 * 1024;      ///< bytes on the way take no time that counts
  static constexpr std::uint32_t kReserved = 4;         ///< credits, and kReserved / 2 slots, for messages without contents

  void reached() override {
    if (state_ == State::open) user_->reached();
  }
  void connected() override;
  void received(std::uint32_t slot, std::size_t size) override;
  void sent(std::uint32_t slot) override;
  void broken(const Status& why) override { fail(why); }

  /// Messages that may be under way to this side.
  std::uint32_t receives() const;
  std::uint32_t under_way() const { return static_cast<std::uint32_t>(sent_ - acked_); }
  bool may_ask() const { return state_ == State::open && asked_ == 0 && !wants_answer_; }
  bool owes() const;
  void note_owing();
  void send_credit();
  void post(std::uint32_t slot, MessageType type, std::size_t body, Lent lent);
  void answered(Nanoseconds took);
  bool hand_over(std::uint32_t slot, std::size_t size);
  void took_back(std::uint32_t slot);
  void take(std::uint32_t slot, std::size_t size);
  Status examine(std::uint32_t slot, std::size_t size, MessageHeader& header);
  Status take_credit(const MessageHeader& header);

  const std::unique_ptr<QueuePair> pair_;
  const MessageOptions& options_;
  const Clock& clock_;
  ChannelNews& news_;
  const bool shares_;  ///< receives
  Slots slots_;
  State state_ = State::open;
  User* user_ = nullptr;
  bool is_lane_ = false;
  Status why_;

  std::vector<std::uint32_t> free_;  ///< sending slots
  std::vector<Lent> lent_;           ///< with the sending slots, in order
  std::size_t lendings_ = 0;         ///< of them
  std::uint32_t held_slot_ = 0;
  std::size_t held_ = 0;  ///< bytes of the body of a message that is not sent yet; 0 = there is none
  struct Message {
    std::uint32_t slot;
    std::size_t size;
  };
  std::vector<Message> waiting_;  ///< sends that the pair had no room for, in order
  std::vector<Message> kept_;     ///< came while ChannelNews::admitting
  bool ends_ = false;             ///< the pair is broken, behind what is kept
  bool connected_ = false;

  std::uint32_t peer_receives_;  ///< as last told
  std::uint32_t most_receives_;  ///< of these; messages without contents may follow, or nobody could acknowledge after it has sunk
  std::uint32_t told_receives_;  ///< to the other side, as last
  std::uint64_t sent_ = 0, acked_ = 0;
  std::size_t unacked_bytes_ = 0;
  std::vector<std::uint32_t> sizes_;  ///< of messages under way, by number
  std::uint64_t received_ = 0, told_ = 0;
  std::size_t owed_bytes_ = 0;  ///< since told_
  bool answer_ = false;         ///< the other side wants one now
  bool listed_ = false;         ///< in ChannelNews::owing

  bool wants_answer_ = false;   ///< the next message asks
  bool asked_at_rest_ = false;
  std::size_t came_ = 0;        ///< bytes since the question
  std::uint64_t asked_ = 0;     ///< the question is the message before this number; 0 = none is open
  Nanoseconds asked_at_ = 0, sent_at_ = 0, heard_at_ = 0, least_answer_ = 0;
  Nanoseconds mean_answer_ = 0, deviation_ = 0;  ///< as TCP's: RFC 6298
};

}  // namespace nezha
