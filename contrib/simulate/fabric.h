/* SPDX-License-Identifier: BSD-3-Clause */
/// Links, buffers, credits and arbiters: what moves packets between devices, inside nodes and between them alike.
///
/// An input of a device has a buffer, an output a link to an input of another device. Packets wait in an input's buffer
/// in one queue for each output; the queues share the buffer. An output that is free takes the packet that the arbiter
/// chooses among the inputs, if the buffer at the link's other end has room for the whole packet: virtual cut-through
/// with credits. A packet goes on from a switch when its header is there, and late enough for its end not to be sent
/// before it has come. An input may feed several outputs at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "device.h"
#include "events.h"

namespace nezha_simulate {

enum class Arbiter : std::uint8_t { round_robin, age };

/// A packet, or several of one message that follow one another closely (a train).
struct Packet {
  std::int32_t next;     ///< in its queue
  std::int32_t message;  ///< the owner's number
  std::int32_t bytes;    ///< on the wire, with headers
  std::int32_t held;     ///< bytes of the input's buffer that are free once it has left
  std::int32_t link;     ///< the one it travels on, or came by
  std::int16_t node;     ///< its destination
  std::int16_t accelerator;
  bool last;   ///< of its message
  Time asked;  ///< when it began to ask for its output
};

struct LinkMake {
  double gbps;
  Time flight;
  std::int64_t buffer;       ///< of the input at its end, bytes; 0: without limit
  std::int32_t bytes_ahead;  ///< so much of a packet has to come before it may go on
  double onward_gbps;        ///< of the outputs of the device at its end
};

class Fabric {
 public:
  /// `matched`: an input feeds one output at a time.
  Fabric(Arbiter arbiter, bool matched) : arbiter_(arbiter), matched_(matched) {}
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

 protected:
  static constexpr std::int32_t kNone = -1;

  std::int32_t add_device(DeviceKind kind, int ports, int number, int breadth);
  void connect(std::int32_t from, int output, std::int32_t to, int input, const LinkMake& make);

  std::int32_t new_packet();
  void free_packet(std::int32_t number);
  Packet& packet(std::int32_t number) { return packets_[static_cast<std::size_t>(number)]; }
  /// Has an endpoint send a packet after those that were queued before. The packet belongs to the fabric until it
  /// arrives.
  void queue_at(std::int32_t endpoint, std::int32_t packet) { enters(endpoint, 0, 0, packet); }

  Time now() const { return now_; }
  std::uint64_t events() const { return events_; }
  /// happens(what) is to be called then.
  void call_at(Time when, std::int32_t what) { queue_.push(when, kOwn, what); }
  /// Handles what happens up to `end`.
  void run_until(Time end);
  /// Handles everything that is still to happen.
  void run_out();
  /// True when all buffers of inputs are empty and everybody who fills them knows.
  bool all_credits_back();

  /// The end of a packet has come to an endpoint, which owns it from now on. Its bytes stay taken of the endpoint's
  /// buffer.
  virtual void arrived(std::int32_t endpoint, std::int32_t packet) = 0;
  /// A packet begins to leave an endpoint.
  virtual void leaves(std::int32_t endpoint, const Packet& packet) = 0;
  virtual void happens(std::int32_t what) = 0;

 private:
  enum Kind : std::uint32_t { kArrives, kFree, kOwn };
  struct Credit {
    Time when;
    std::int32_t bytes;
  };
  struct Link {
    Time free_at = 0;
    Time flight = 0;
    std::int64_t buffer = 0;
    std::int64_t credits = 0;
    std::uint64_t waiting = 0;  ///< a bit for each input that has packets for it
    std::int64_t per_byte = 0;  ///< femtoseconds
    std::int64_t onward_per_byte = 0;
    std::int32_t from = 0, to = 0;
    std::int32_t bytes_ahead = 0;
    std::int32_t needed = 0;  ///< not 0: so many credits have to come before anything else happens to it
    std::int16_t output = 0, input = 0;
    std::uint8_t last_input = 0;
    bool to_endpoint = false;
    bool armed = false;  ///< an event will look at it
    std::deque<Credit> returning;
  };
  struct Queue {
    std::int32_t head = kNone, tail = kNone;
  };

  Link& link(std::int32_t number) { return links_[static_cast<std::size_t>(number)]; }
  Queue& queue(const Device& device, int input, int output) {
    return queues_[static_cast<std::size_t>(device.queues + input * device.ports + output)];
  }
  void handle();
  void arrives(std::int32_t packet);
  void enters(std::int32_t device, int input, int output, std::int32_t packet);
  void look_at(std::int32_t number);
  void send_from(std::int32_t number);
  void goes(std::int32_t number, std::int32_t packet);
  std::uint64_t idle_inputs(std::int32_t number);
  int chosen_input(const Link& link, std::uint64_t asking);
  int oldest_input(const Link& link, std::uint64_t asking);
  void arm(std::int32_t number, Time when);
  bool has_credits(std::int32_t number, std::int32_t bytes);
  void give_back(std::int32_t number, std::int32_t bytes, Time when);

  Arbiter arbiter_;
  bool matched_;
  Time now_ = 0;
  std::uint64_t events_ = 0;
  EventQueue queue_;
  std::vector<Packet> packets_;
  std::int32_t unused_ = kNone;
  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<std::int32_t> feeding_;  ///< by Device::inputs: the link that ends in an input with a buffer
  std::vector<Time> input_free_at_;    ///< likewise
  std::vector<Queue> queues_;
};

}  // namespace nezha_simulate
