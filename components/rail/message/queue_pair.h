// SPDX-License-Identifier: BSD-3-Clause
/// What a kind of rails over whole messages (libfabric, verbs) supplies; everything else of its transport is here: credits,
/// admission, frames, silence, waiting. A kind is
/// 1. a QueuePair: one connection that carries messages of up to Slots::size bytes reliably and in order, from and to memory
///    that it has enrolled. A message is sent only while the other side is known to have a receive posted for it, so that
///    "receiver not ready" never happens, but for shared receives.
/// 2. a MessageKind: the rails, their listeners, and a look at their completions.
/// 3. a row in the engine's table of transports that hands the kind to make_message_transport().
/// Threads: everything is called with the engine's lock held; nothing may block. What has to is left to employ_service().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rail/rail.h"
#include "util/status.h"

namespace nezha {

/// The memory of one connection: `receives` slots, none with shared receives, then `sends` slots, of `size` bytes each. Slots are
/// numbered from 0 on, those for sending after those for receiving. The memory is as make_pages() makes it.
struct Slots {
  std::size_t size = 0;
  std::uint32_t receives = 0, sends = 0;
  std::span<std::byte> memory;
  std::shared_ptr<std::byte[]> owner;  ///< of the memory; a pair that cannot stop at once keeps it

  std::span<std::byte> at(std::uint32_t slot) const { return memory.subspan(slot * size, size); }
};

/// Memory of the application's that a message ends with, in place of a copy in the message's slot.
struct Lent {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> region;  ///< registered, and stays so while anybody has this
};

/// What a queue pair tells its owner, from inside MessageKind::poll() only.
class QueuePairEvents {
 public:
  /// Before connected(), from a kind that can tell: the other side's kernel has answered, and its process is waited for.
  virtual void reached() {}
  /// Messages can be sent from here on; what was posted before has to wait or answers Posted::later.
  virtual void connected() = 0;
  /// A message of `size` bytes lies in that slot, which is no longer posted: a shared one has to be, whatever becomes of the pair.
  virtual void received(std::uint32_t slot, std::size_t size) = 0;
  /// The slot's memory, and what was lent with it, is no longer read. That says nothing about the other side.
  virtual void sent(std::uint32_t slot) = 0;
  /// Nothing more will come or go. Code::closed where the other side has closed the connection.
  virtual void broken(const Status& why) = 0;

 protected:
  ~QueuePairEvents() = default;
};

/// One connection of a kind. Its owner calls enroll(), post_receive() for each receiving slot of its own, start(), and in the end close().
class QueuePair {
 public:
  enum class Posted {
    yes,
    copied,  ///< yes, and the slot's memory is no longer read: sent() does not follow
    later,
    failed,
  };

  virtual ~QueuePair() = default;

  /// Memory that stays until close(), for instance to be registered. `events` get everything from here on.
  virtual Status enroll(const Slots& slots, QueuePairEvents& events) = 0;
  /// Connects, or accepts. The outcome is connected() or broken().
  virtual Status start() = 0;
  /// At most Slots::receives are posted at a time. A shared one is given back by that, also after close().
  virtual Status post_receive(std::uint32_t slot) = 0;
  /// All pairs of its rail receive into the same slots, which are the kind's: as many messages as may be under way to this one now
  /// if all get alike. More than the pair's part find no receive posted at times, and wait in the NIC that sends them. 0: receives
  /// are the pair's own. From the beginning one or the other.
  virtual std::uint32_t shared_receives() const { return 0; }
  /// Where a message lies that came into such a slot.
  virtual std::span<const std::byte> shared_slot(std::uint32_t /*slot*/) const { return {}; }
  /// The first `size` bytes of the slot go out. later: no room now; it is tried again after the next poll().
  virtual Posted post_send(std::uint32_t slot, std::size_t size) = 0;
  /// As many of these bytes, from the first on, as post_lent() can send from where they lie; none: they have to be copied. `reach`
  /// as in Gather: what is registered for them. Takes a while where they were not sent before.
  virtual Lent lend(std::span<const std::byte> /*bytes*/, std::size_t /*reach*/) { return {}; }
  /// post_send(), with `lent` behind these bytes: not more than a slot in all. Never `copied`.
  virtual Posted post_lent(std::uint32_t /*slot*/, std::size_t /*size*/, const Lent& /*lent*/) { return Posted::failed; }
  /// After this no event comes, whatever was under way, and no memory is read or written but what the pair has an owner of. May
  /// be called from an event, and again.
  virtual void close() = 0;
};

/// Who takes connections that came in.
class MessageArrivals {
 public:
  /// `rail` is the kind's own number; `from` names the other side, for texts.
  virtual void arrived(std::size_t rail, std::unique_ptr<QueuePair> pair, std::string from) = 0;

 protected:
  ~MessageArrivals() = default;
};

/// The rails of one kind in one process. Outlives its queue pairs.
class MessageKind {
 public:
  virtual ~MessageKind() = default;

  virtual std::span<const RailAddress> rails() const = 0;
  /// See Transport::where() and pci_device().
  virtual std::string where(const RailAddress& rail) const = 0;
  virtual std::string pci_device(std::size_t) const { return {}; }
  /// A queue pair from that rail to `remote` (untrusted), not started. What of start() blocks, such as finding a neighbour, is
  /// left to the service thread (employ_service()).
  virtual Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) = 0;
  /// Looks at connections and, unless `watch` is rare, at completions, and tells the events. Work is bounded. True when there
  /// was any.
  virtual bool poll(Watch watch, MessageArrivals& arrivals) = 0;
  /// A descriptor that polls readable when there is something to do for completions (all) or connections (rare), once
  /// may_sleep(watch) has said so. Two different ones; a kind that tells of connections by completions has all in that for rare.
  virtual int fd(Watch watch) const = 0;
  /// Gets ready to wake a sleeper. False: poll(watch) has something to do already.
  virtual bool may_sleep(Watch watch) = 0;
  /// Whether this thread may post what had to wait (Posted::later).
  virtual bool may_post() const { return true; }
  /// poll() is to be called then, whatever the descriptors say; 0: no need.
  virtual Nanoseconds next_deadline() const { return 0; }
  /// See Transport. part(): whether its pairs are to be closed now.
  virtual void ending() {}
  virtual bool part() { return false; }
  virtual bool parted() const { return true; }
  /// See Transport::employ_service().
  virtual void employ_service(RailWorker&) {}
};

}  // namespace nezha
