// SPDX-License-Identifier: BSD-3-Clause
/// One end of a simulated RDMA connection (message/queue_pair.h), whose bytes go as a stream through the ports. It is as unkind as
/// the contract permits: memory is read and written late, completions are seen late, those of sends in any order, posts are put
/// off, and a connection breaks when the far end's NIC has not answered for a while. What a correct user cannot cause is a
/// violation: a message that changes while it is read, or that finds no receive posted; where receives are shared it waits for one.
/// What was lent may change once nobody counts it: the NIC sends what it then finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/sim/port.h"
#include "rail/sim/stream.h"

namespace nezha {

class SimQueueKind;

/// Alike for all NICs of a network.
struct SimQueueOptions {
  Nanoseconds latest = 20 * kMicrosecond;  ///< how much later memory is read or written, and a completion is seen
  double lends = 0;                        ///< probability that memory can be sent from where it lies, in parts at times
  double put_off = 0;                      ///< probability that a post has to come again
  std::uint32_t shared = 0;                ///< receives that all pairs of a process share; 0: each has its own
  Nanoseconds patience = 0;                ///< without an answer of the far end's NIC the connection breaks; 0 = never
};

/// A connection that is asked for.
struct SimQueueRequest {
  ProcessId from = 0, to = 0;
  std::size_t rail = 0;  ///< of the process that is asked
  SimPort* asking = nullptr;
  SimPort* asked = nullptr;
  std::shared_ptr<SimStream> there, back;
  std::function<void()> accepted;  ///< of the asking end; does nothing once that is gone
};

class SimQueuePair final : public QueuePair, public SimStreamUser {
 public:
  SimQueuePair(SimQueueKind& kind, SimQueueRequest request, bool accepts);
  ~SimQueuePair() override { close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override;
  Status start() override;
  Status post_receive(std::uint32_t slot) override;
  std::uint32_t shared_receives() const override;
  std::span<const std::byte> shared_slot(std::uint32_t slot) const override;
  Posted post_send(std::uint32_t slot, std::size_t size) override { return post_lent(slot, size, {}); }
  Lent lend(std::span<const std::byte> bytes, std::size_t reach) override;
  Posted post_lent(std::uint32_t slot, std::size_t size, const Lent& lent) override;
  void close() override;

  /// Tells the events; `all`: completions too. True when there were any.
  bool poll(bool all);
  /// poll(all) has something to do.
  bool ready(bool all) const;
  const SimPort& port() const { return accepts_ ? *request_.asked : *request_.asking; }
  /// The NIC may have room for messages that have arrived.
  void receive();
  /// The NIC gives the connection up. `silently`: the far end is not told.
  void break_off(const char* why, bool silently);

 private:
  struct Send {
    std::uint32_t slot;
    std::vector<std::byte> message;  ///< as it was posted, without what was lent
    std::span<const std::byte> lent;
  };
  struct Sent {
    std::uint32_t slot;
    std::size_t end;  ///< its last byte's place in the stream
  };
  struct Arrived {
    Nanoseconds seen;
    std::vector<std::byte> message;
  };

  void stream_changed() override;
  void after(Nanoseconds delay, std::function<void()> what);
  Nanoseconds late();
  void transmit();
  void answered();
  bool take_message();
  void watch_answers();
  bool deliver();
  std::uint32_t place(std::span<const std::byte> message);

  SimQueueKind& kind_;
  SimNetwork& network_;
  SimQueueRequest request_;
  const bool accepts_;
  std::shared_ptr<bool> there_ = std::make_shared<bool>(true);  ///< for events of the network: gone once closed
  std::shared_ptr<SimStream> out_, in_;  ///< null before start()
  Slots slots_;
  QueuePairEvents* events_ = nullptr;
  bool up_ = false, told_up_ = false, broken_ = false, closed_ = false, watching_ = false;
  const char* why_ = "";

  std::deque<std::uint32_t> posted_;
  std::deque<Send> sends_;
  std::deque<Sent> sent_;
  std::size_t written_ = 0;
  Nanoseconds waiting_since_ = 0;
  std::vector<std::uint32_t> done_;   ///< sends whose completions are seen
  std::vector<std::byte> assembly_;   ///< of the message that is arriving
  std::deque<Arrived> arrived_;
};

}  // namespace nezha
