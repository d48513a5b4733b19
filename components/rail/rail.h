// SPDX-License-Identifier: BSD-3-Clause
/// The rail contract: what a transport gives to the trunk, and what it is told. A new transport implements Transport
/// and Lane in a folder of its own and adds one row to the engine's table of transports.
///
/// Threads: everything here but Task::run is called with the engine's lock held, by whichever thread drives. Nothing may
/// block, sleep or read a clock of its own. Errors are Status values; no exception leaves a transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rail/rail_address.h"
#include "util/clock.h"
#include "util/status.h"

namespace nezha {

/// Limits that sender and receiver share. A frame beyond them is bad and closes its lane.
constexpr std::size_t kMaxFrameHeader = 1024;        ///< bytes of records in front of the payload
constexpr std::size_t kMaxFramePayload = 256 * 1024;  ///< bytes
constexpr std::size_t kMaxFrameSegments = 16;         ///< records with payload in one frame
constexpr std::size_t kMaxRails = 16;                 ///< of one process

/// A random 64-bit number that names one process for as long as it lives. Never 0.
using ProcessId = std::uint64_t;

/// Where processes of one node reach this one over the node's loopback, which stays whatever becomes of the rails. It is in no
/// list of rails.
struct Loopback {
  std::uint64_t network = 0;  ///< alike for those processes of a node that reach each other; 0 = there is no loopback
  RailAddress address;

  bool operator==(const Loopback&) const = default;
};

/// The loopback's number where rails are numbered.
constexpr std::uint8_t kLoopbackRail = kMaxRails;

/// One lane to be: which of my rails, which of the peer's. Both sides compute the same set.
struct LaneSpec {
  ProcessId peer = 0;
  std::uint8_t local_rail = 0;   ///< index into the process's list of rails, or kLoopbackRail
  std::uint8_t remote_rail = 0;  ///< index into the peer's list, or kLoopbackRail
  bool same_node = false;        ///< both ends on this node and in one network: the socket is not bound to a device
  std::uint64_t connection = 0;  ///< of a lane that is up: the same at both ends, and of no other connection
  std::uint64_t attempt = 0;     ///< of a connect(): the engine's number of it, for lane_failed()
};

/// Bytes to send, not owned.
struct Gather {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t reach = 0;  ///< from `data` on: in use as long as these, and maybe sent again from there; 0 = not known
};

/// Where bytes go; `data == nullptr`: into the bin.
struct Scatter {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// Places for the payload of one frame, in the order of the wire.
struct ScatterList {
  std::array<Scatter, kMaxFrameSegments> segments;
  std::size_t count = 0;
};

/// Who answers at the far end of a lane.
enum class Answers : std::uint8_t {
  transport,  ///< a kernel or a NIC, by itself
  process,    ///< by a thread of its own: silence may mean that it does not run
  call,       ///< the process, while it is in a call: that it computes may take hours
};

/// What is known of the far end's transport.
struct LanePulse {
  std::uint64_t delivered = 0;  ///< grows whenever it acknowledges something; only changes count
  std::size_t in_flight = 0;    ///< bytes that left and await its answer; 0 while it holds us back, or all is answered
  Nanoseconds heard = 0;        ///< for how long nothing at all has come from it
  Nanoseconds rtt = 0;          ///< within which an answer usually comes, variance included; 0 = unknown
  bool held_back = false;       ///< nothing is in flight, as its window is closed for what waits
};

/// One long system call that a lane leaves to its rail's worker, or a transport to the engine's service thread.
class Task {
 public:
  /// On the worker, once per RailWorker::submit, beside everything else and without the engine's lock: may touch only what was
  /// set aside for it until it is over. Must not block, but for one that is left to the service thread. Tells its lane by means of the transport's own.
  virtual void run() = 0;

 protected:
  ~Task() = default;
};

/// The worker of one rail, or the service thread, as a transport sees these threads of the engine's. Outlives the transport.
class RailWorker {
 public:
  /// Has `task` run soon. It is neither submitted again nor changed or freed before it is over or cancelled.
  virtual void submit(Task& task) = 0;
  /// From here on the task does not run: it never began (false), or it is over (true), for which this waits, as long as
  /// its one system call takes. Also right for one that was not submitted or is long over (true).
  virtual bool cancel(Task& task) = 0;

 protected:
  ~RailWorker() = default;
};

class Lane;

/// What a lane tells its trunk. All calls come from inside Transport::progress or Lane::send, lane_free and lane_down also from
/// inside Transport::admit.
class LaneEvents {
 public:
  /// A frame's header arrived whole and its checksum is right (its contents are still untrusted). Fill `into` with
  /// places for exactly `payload` bytes. A status that is not ok closes the lane with that reason.
  virtual Status frame_begins(Lane& lane, std::span<const std::byte> header, std::size_t payload, ScatterList& into) = 0;
  /// All payload bytes are at their places (or in the bin). Same rule for the status.
  virtual Status frame_ends(Lane& lane) = 0;
  /// The frame that send() took only partly has been handed over: the lane is free for the next.
  virtual void lane_free(Lane& lane) = 0;
  /// The lane is dead. It no longer refers to any source memory or place. The Lane object stays valid until the
  /// trunk calls Transport::forget().
  virtual void lane_down(Lane& lane, const Status& why) = 0;

 protected:
  ~LaneEvents() = default;
};

/// One established, admitted connection. Owned by its transport.
class Lane {
 public:
  enum class Sent { whole, partly, busy, down };

  virtual ~Lane() = default;

  const LaneSpec& spec() const { return spec_; }

  /// Hands over one frame: `header` is copied (into the wire with its checksum); payload bytes are read in place.
  /// whole: nothing is left to hand over. partly: the source must stay until lane_free or own_rest. busy: an earlier frame
  /// is still partly sent, nothing was taken. down: the lane is dead (lane_down was or will be called). In any case
  /// reads() may be true of the source.
  virtual Sent send(std::span<const std::byte> header, std::span<const Gather> payload) = 0;
  /// True while a frame is partly sent.
  virtual bool busy() const = 0;
  /// Copies what is left of a partly sent frame into the lane's own memory, so that the source may change.
  virtual void own_rest() = 0;
  /// What was handed over of these bytes is still to be read by a NIC. Until that has ended, or the lane has, they may change
  /// only if nobody counts them any more: their memory may then go, too, as far as the lane is concerned.
  virtual bool reads(std::span<const std::byte>) const { return false; }
  /// Sends segment `index` of the frame being received into the bin from here on.
  virtual void redirect(std::size_t index) = 0;
  /// Bytes handed over and not yet acknowledged by the peer's transport: the queue in front of a new frame. Costs a
  /// system call on real transports.
  virtual std::size_t fill() = 0;
  /// Smallest round trip seen by the transport; 0 = unknown.
  virtual Nanoseconds min_rtt() = 0;
  /// Whether the far end still answers. Cheap: refreshed every few milliseconds at most. A transport that cannot tell
  /// has nothing in flight, as has one where calls alone are answered.
  virtual LanePulse pulse() { return {}; }
  virtual Answers answers() const { return Answers::transport; }
  /// Closes the lane at once; lane_down is not called.
  virtual void close() = 0;

 protected:
  explicit Lane(const LaneSpec& spec) : spec_(spec) {}

 private:
  LaneSpec spec_;
};

class Transport;

/// The engine's side of admission: who is known, and what to do with a lane that came up.
class Admission {
 public:
  /// The secret shared with `peer` (32 bytes, of this job only), or nullptr when no such process is known: refuse.
  virtual const std::array<std::uint8_t, 32>* secret(ProcessId peer) const = 0;
  /// True when a lane of this spec may be admitted now: the pair of rails is expected. It replaces one that is up. Accepting side.
  virtual bool expects(const LaneSpec& spec) const = 0;
  /// A connection to the peer is through; false: the lane is not of use any more, since one that is up between these rails
  /// answers after all. What was queued on that before this connection began would have been answered first. Connecting side.
  virtual bool wants(const LaneSpec&) const { return true; }
  /// An admitted lane; from here on events go to the returned receiver. Both sides.
  virtual LaneEvents& lane_up(Lane& lane) = 0;
  /// A connect() came to nothing; no more calls for this attempt. Connecting side.
  virtual void lane_failed(const LaneSpec& spec, const Status& why) = 0;
  /// A rail of this process can be used again, after a time when it could not; maybe at another address.
  virtual void rail_back(std::uint8_t, const RailAddress&) {}
  /// The transport has one more rail. Its index among the process's, or none: there are enough, it is not wanted.
  virtual std::optional<std::uint8_t> rail_added(Transport&, const RailAddress&) { return {}; }

 protected:
  ~Admission() = default;
};

/// What is worth looking at when waiting.
enum class Watch {
  all,   ///< everything, payload included
  rare,  ///< only what the service thread must see while nobody is in a call: connections, admission, lanes lost
};

/// All rails of one kind in one process, and their lanes.
class Transport {
 public:
  virtual ~Transport() = default;

  /// The rails, in order. They become more, and their addresses others, only as Admission hears.
  virtual std::span<const RailAddress> rails() const = 0;
  /// Where a rail of this kind is, for people: "10.1.0.7". `rail` may be a peer's, whose place is untrusted.
  virtual std::string where(const RailAddress& rail) const = 0;
  /// The PCIe device of its rail `rail`, as pci_device_of() has it; empty: the rail's name tells as much.
  virtual std::string pci_device(std::size_t) const { return {}; }
  /// Stays as it is.
  virtual Loopback loopback() const { return {}; }
  /// Starts to connect; the outcome is Admission::lane_up or lane_failed. By `deadline` the far end's kernel has answered, its
  /// process a while later. `spec`'s rail indices are those of the process; `local` is this transport's own rail, or
  /// kLoopbackRail. `remote` is untrusted.
  virtual void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) = 0;
  /// Moves what can be moved now and reports it through the events; never blocks. True when anything happened.
  virtual bool progress(Watch watch) = 0;
  /// The part of it that is about connections: makes, accepts and admits them, and follows links. Nothing that peers sent by lanes
  /// is reported, not even in front of a lane's end: that stays for the next progress(). True when anything happened.
  virtual bool admit() = 0;
  /// Until the next progress(), whatever that looks at, payload counts as rare too: the process is about to sleep, and a
  /// peer may have to hear that its pieces arrived. No longer, or each payload of calls that follow would wake somebody.
  virtual void arm_payload_wakeup() {}
  /// Large frames of its rail `rail` may be left to `worker` from here on: Lane::send then answers partly. A transport
  /// whose frames cost the processor nothing has no use for it.
  virtual void employ(std::size_t, RailWorker&) {}
  /// What may block, such as a question to the kernel that waits for one of its locks, is left to `service` from here on. Before,
  /// it is done on the spot. Its end need not wake anybody: `service` sees to it that progress() is called soon.
  virtual void employ_service(RailWorker&) {}
  /// A descriptor that polls readable when progress(watch) has something to do; -1 when there is none (simulation).
  virtual int wait_fd(Watch watch) const = 0;
  /// When progress() must be called again even though no descriptor is ready (handshake deadlines); 0 = never.
  virtual Nanoseconds next_deadline() const = 0;
  /// Payloads are sent from where they lie (Lane::reads): it has to hear of memory that goes.
  virtual bool lends() const { return false; }
  /// At most so many bytes of the transport's memory for what a lane has received and nobody has read, from here on and for
  /// lanes that are up too. For transports that have such memory; twice as much where the sender's kernel holds nothing.
  virtual void bound_lanes(std::size_t bytes) { static_cast<void>(bytes); }
  /// The job is about to end: no call begins any more, here and soon everywhere.
  virtual void ending() {}
  /// After ending(), and once no call is under way anywhere: a kind whose messages must not be left to a process that ends closes its
  /// lanes at both ends, as progress() goes on. Nothing is sent any more.
  virtual void part() {}
  /// All that peers have sent has come.
  virtual bool parted() const { return true; }
  /// Its rail `rail` can be announced now: its networks forget, and the last time is long enough ago.
  virtual bool may_announce(std::size_t) const { return false; }
  /// Its rail `rail`, which it may announce, is back, or a peer's in the same network: whoever shares that may have
  /// given up to find it, and is told. `taken`: where peers' rails are, who need not be bothered otherwise.
  virtual void announce(std::size_t, std::span<const RailAddress* const>) {}
  /// Frees a lane that is down or closed.
  virtual void forget(Lane& lane) = 0;
};

}  // namespace nezha
