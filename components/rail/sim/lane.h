// SPDX-License-Identifier: BSD-3-Clause
/// One end of a simulated connection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rail/frame_reader.h"
#include "rail/sim/network.h"
#include "rail/sim/port.h"

namespace nezha {

class SimLane;

/// The transport, as its lanes see it.
class SimLaneOwner {
 public:
  /// There is something for progress().
  virtual void wake() = 0;
  /// The lane was given this frame: it is to go over another one too.
  virtual void duplicate(const SimLane& lane, std::vector<std::byte> frame) = 0;

 protected:
  ~SimLaneOwner() = default;
};

/// Like a real lane it reads source memory as late as the kernel's buffer makes it, and writes to places as bytes come
/// in. It remembers what the source was when it was handed over, and reports a violation when that has changed.
class SimLane final : public Lane, public SimStreamUser {
 public:
  /// `self` and `port` are this side's.
  SimLane(const LaneSpec& spec, ProcessId self, SimNetwork& network, const SimPort& port, std::shared_ptr<SimStream> out,
          std::shared_ptr<SimStream> in, SimLaneOwner& owner);
  ~SimLane() override;

  Sent send(std::span<const std::byte> header, std::span<const Gather> payload) override;
  bool busy() const override { return rest_at_ != rest_.size(); }
  void own_rest() override;
  void redirect(std::size_t index) override { reader_.redirect(index); }
  std::size_t fill() override;
  Nanoseconds min_rtt() override { return 2 * port_.options().delay; }
  LanePulse pulse() override;
  void close() override;

  // ---- the transport's side
  void set_events(LaneEvents& events) { events_ = &events; }
  /// Writes and reads what can be; reports the end. True when anything happened.
  bool progress();
  /// Looks only for an end; when there is one, what came before it is still read.
  bool progress_rare();

  /// Sends a frame that its trunk gave to another lane, if it can.
  void repeat(std::vector<std::byte> frame);

  // ---- the network's side
  void stream_changed() override { owner_.wake(); }
  /// This end finds out that the connection is dead. `linger`: what the kernel has of it still goes out, `slower` by so
  /// much, so that it meets what was sent again by other lanes.
  void break_off(const std::string& why, bool linger, Nanoseconds slower = 0);
  bool alive() const { return state_ == State::open; }
  const SimPort& port() const { return port_; }
  bool through(const SimPort& port) const { return out_->between(port); }
  /// The network has forgotten the connection, and tells nobody.
  void cut();
  bool is_cut() const { return out_->is_cut(); }
  std::uint64_t serial = 0;  ///< the transport's

 private:
  enum class State { open, broken, closed };
  class Arrivals;
  struct Part {
    const std::byte* data;         ///< source memory, or own_
    std::size_t size;
    std::vector<std::byte> then;   ///< what it was when it was handed over
  };

  void put(const std::byte* bytes, std::size_t size, std::size_t& room);
  bool flush();
  void duplicate(std::span<const Gather> payload);
  /// Reads at most so much.
  bool receive(std::size_t most);
  bool report();
  void fail(Status why, bool linger);
  void detach(bool linger);

  const ProcessId self_;
  SimNetwork& network_;
  const SimPort& port_;
  std::shared_ptr<SimStream> out_, in_;
  SimLaneOwner& owner_;
  LaneEvents* events_ = nullptr;
  State state_ = State::open;
  Status why_;

  std::vector<Part> rest_;     ///< of a partly sent frame
  std::size_t rest_at_ = 0;
  std::vector<std::byte> own_;

  std::vector<std::byte> arriving_;  ///< the header of the frame that comes in, where arrivals are observed
  std::size_t arriving_payload_ = 0;
  std::vector<std::byte> bin_;
  FrameReader reader_;
};

}  // namespace nezha
