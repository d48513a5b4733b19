/* SPDX-License-Identifier: BSD-3-Clause */
/// Nodes with accelerators and a NIC each, joined by a fat tree of two levels, under the traffic of a setting or of an
/// algorithm.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fabric.h"
#include "measured.h"
#include "random.h"
#include "replay.h"
#include "setting.h"

namespace nezha_simulate {

class Cluster : private Fabric {
 public:
  /// A setting without complaint.
  explicit Cluster(const Setting& setting) : Cluster(setting, nullptr) { start_sources(); }
  /// Accelerators generate nothing, but rank 0 is the first of node 0, and so on, and they send what the traffic has.
  /// It stays until this is gone, and there are accelerators enough.
  Cluster(const Setting& setting, const Traffic& traffic) : Cluster(setting, &traffic) {}

  /// `progress` hears now and then how much of the time has been simulated, 0 to 1.
  Measured run(const std::function<void(double)>& progress = {});
  /// After run(): lets what is under way arrive. True when every message has, and every buffer is free again.
  bool drains();
  /// Sends the traffic. When its last byte has come.
  Time replay();

 private:
  /// As much of a message as is the payload of one packet between nodes.
  struct Message {
    std::array<Time, kParts> left{};  ///< when it first left each part of its way but the last; 0: not yet
    Time created = 0;
    std::int32_t next = kNone;
    std::int32_t payload = 0;
    std::int32_t of = kNone;   ///< a message of the traffic
    std::int32_t awaited = 0;  ///< packets that have not come to where they are put together
    std::int32_t held = 0;     ///< bytes of the NIC's buffer
    std::int16_t node = 0, accelerator = 0, from = 0;
  };
  /// What generates an accelerator's messages, and those that wait to be sent.
  struct Source {
    Random random{0};
    Time due = 0;
    std::int32_t head = kNone, tail = kNone, waiting = 0;
    bool sending = false, stalled = false;
  };

  Cluster(const Setting& setting, const Traffic* traffic);
  void build_node(int node);
  void build_tree();
  void start_sources();
  /// Devices of a node: the switch, accelerators 1 to A, and the two directions of the NIC.
  std::int32_t device(int node, int what) const { return node * devices_of_node_ + what; }
  Message& message(std::int32_t number) { return messages_[static_cast<std::size_t>(number)]; }
  Message& message_of(const Packet& packet) { return message(packet.message); }
  std::int32_t new_message();
  void stamp(Message& message, Part part) {
    Time& left = message.left[part];
    if (left == 0) left = now();
  }

  void arrived(std::int32_t endpoint, std::int32_t packet) override;
  void leaves(std::int32_t endpoint, const Packet& packet) override;
  void happens(std::int32_t source) override;

  void generate(std::int32_t number);
  void address(Message& message, Random& random, std::int32_t source, bool elsewhere) const;
  void queue(std::int32_t number, std::int32_t made);
  void send(std::int32_t number);
  void begin_next(std::int32_t number);
  void queue_packets(std::int32_t endpoint, std::int32_t number, std::int32_t held);
  void gather(std::int32_t endpoint, std::int32_t number);
  void split(std::int32_t endpoint, std::int32_t number);
  void take(std::int32_t number);
  void count(const Message& message);

  const Setting setting_;
  const int devices_of_node_, outwards_, inwards_;
  const Traffic* const traffic_;
  std::int32_t most_waiting_;
  Time interval_ = 0;
  bool counting_ = false, generating_ = true;
  std::vector<Message> messages_;
  std::int32_t unused_ = kNone;
  std::int64_t under_way_ = 0;
  std::vector<Source> sources_;
  std::optional<Replay> replay_;
  Time last_arrival_ = 0;
  Measured measured_;
};

}  // namespace nezha_simulate
