// SPDX-License-Identifier: BSD-3-Clause
/// What accelerators and NICs do with messages.
#include "cluster.h"

#include <algorithm>

namespace nezha_simulate {

std::int32_t Cluster::new_message() {
  ++under_way_;
  if (unused_ == kNone) {
    messages_.emplace_back();
    return static_cast<std::int32_t>(messages_.size()) - 1;
  }
  const std::int32_t number = unused_;
  unused_ = message(number).next;
  message(number) = {};
  return number;
}

void Cluster::happens(std::int32_t source) { generate(source); }

void Cluster::generate(std::int32_t number) {
  Source& source = sources_[static_cast<std::size_t>(number)];
  if (!generating_) return;
  if (source.waiting >= most_waiting_) {
    source.stalled = true;
    return;
  }
  source.due = std::max(source.due, now()) + interval_;
  call_at(source.due, number);
  const bool elsewhere = setting_.nodes > 1 && source.random.in_percent(setting_.inter_percent);
  if (!elsewhere && setting_.accelerators == 1) return;  // the node has no other accelerator
  const std::int32_t made = new_message();
  message(made).payload = setting_.inter_payload;
  address(message(made), source.random, number, elsewhere);
  queue(number, made);
}

void Cluster::address(Message& message, Random& random, std::int32_t source, bool elsewhere) const {
  const int accelerators = setting_.accelerators, node = source / accelerators, accelerator = source % accelerators;
  const int others = elsewhere ? setting_.nodes - 1 : accelerators - 1;
  const int other = static_cast<int>(random.below(static_cast<std::uint32_t>(others)));
  const int any = static_cast<int>(random.below(static_cast<std::uint32_t>(accelerators)));
  message.created = now();
  message.from = static_cast<std::int16_t>(node);
  message.node = static_cast<std::int16_t>(elsewhere ? other + (other >= node) : node);
  message.accelerator = static_cast<std::int16_t>(elsewhere ? any : other + (other >= accelerator));
}

void Cluster::queue(std::int32_t number, std::int32_t made) {
  Source& source = sources_[static_cast<std::size_t>(number)];
  if (source.head == kNone) {
    source.head = made;
  } else {
    message(source.tail).next = made;
  }
  source.tail = made;
  ++source.waiting;
  if (!source.sending) begin_next(number);
}

/// A message of the traffic.
void Cluster::send(std::int32_t number) {
  const Traffic::Message& sent = traffic_->messages[static_cast<std::size_t>(number)];
  for (std::int64_t left = sent.bytes; left > 0; left -= setting_.inter_payload) {
    const std::int32_t made = new_message();
    Message& message = this->message(made);
    message.payload = static_cast<std::int32_t>(std::min<std::int64_t>(left, setting_.inter_payload));
    message.of = number;
    message.created = now();
    message.from = static_cast<std::int16_t>(sent.from / setting_.accelerators);
    message.node = static_cast<std::int16_t>(sent.to / setting_.accelerators);
    message.accelerator = static_cast<std::int16_t>(sent.to % setting_.accelerators);
    queue(sent.from, made);
  }
}

Time Cluster::replay() {
  replay_.emplace(*traffic_);
  for (const std::int32_t message : replay_->first()) send(message);
  run_out();
  return last_arrival_;
}

void Cluster::begin_next(std::int32_t number) {
  Source& source = sources_[static_cast<std::size_t>(number)];
  const std::int32_t first = source.head;
  source.sending = first != kNone;
  if (!source.sending) return;
  source.head = message(first).next;
  --source.waiting;
  queue_packets(device(number / setting_.accelerators, 1 + number % setting_.accelerators), first, 0);
  if (!source.stalled) return;
  source.stalled = false;
  generate(number);
}

/// `held`: bytes of the endpoint's buffer that are free once the last packet has left.
void Cluster::queue_packets(std::int32_t endpoint, std::int32_t number, std::int32_t held) {
  Message& message = this->message(number);
  const std::int32_t most = setting_.train * setting_.intra_payload;
  message.awaited = (message.payload + most - 1) / most;
  std::int32_t left = message.payload;
  while (left > 0) {
    const std::int32_t payload = std::min(left, most);
    left -= payload;
    const std::int32_t made = new_packet();
    Packet& packet = this->packet(made);
    packet.message = number;
    packet.bytes = payload + (payload + setting_.intra_payload - 1) / setting_.intra_payload * setting_.intra_header;
    packet.last = left == 0;
    packet.held = packet.last ? held : 0;
    packet.node = message.node;
    packet.accelerator = message.accelerator;
    queue_at(endpoint, made);
  }
}

void Cluster::leaves(std::int32_t endpoint, const Packet& packet) {
  const int node = endpoint / devices_of_node_, what = endpoint % devices_of_node_;
  Message& message = message_of(packet);
  if (what == outwards_) return stamp(message, source_nic);
  if (what == inwards_) return stamp(message, far_nic);
  stamp(message, source_accelerator);
  if (packet.last) begin_next(node * setting_.accelerators + what - 1);
}

void Cluster::arrived(std::int32_t endpoint, std::int32_t packet) {
  const int what = endpoint % devices_of_node_;
  if (what == outwards_) return gather(endpoint, packet);
  if (what == inwards_) return split(endpoint, packet);
  take(packet);
}

/// In a NIC, outwards: the packets of a message become one.
void Cluster::gather(std::int32_t endpoint, std::int32_t number) {
  Packet& packet = this->packet(number);
  Message& message = message_of(packet);
  stamp(message, source_network);
  message.held += packet.held;
  if (--message.awaited > 0) return free_packet(number);
  packet.bytes = message.payload + setting_.inter_header;
  packet.held = message.held;
  queue_at(endpoint, number);
}

/// In a NIC, inwards.
void Cluster::split(std::int32_t endpoint, std::int32_t number) {
  const std::int32_t message = packet(number).message, held = packet(number).held;
  free_packet(number);
  stamp(this->message(message), between_nodes);
  queue_packets(endpoint, message, held);
}

/// In an accelerator.
void Cluster::take(std::int32_t number) {
  const Packet packet = this->packet(number);
  free_packet(number);
  Message& message = message_of(packet);
  if (counting_) (message.from == message.node ? measured_.intra_bytes : measured_.inter_bytes) += packet.bytes;
  stamp(message, far_network);
  if (--message.awaited > 0) return;
  if (counting_) count(message);
  const std::int32_t of = message.of, payload = message.payload;
  message.next = unused_;
  unused_ = packet.message;
  --under_way_;
  if (of == kNone || !replay_->arrived(of, payload)) return;
  last_arrival_ = now();
  replay_->release(of, [this](std::int32_t other) { send(other); });
}

void Cluster::count(const Message& message) {
  const auto microseconds = [](Time time) { return static_cast<double>(time) / kMicrosecond; };
  if (message.from == message.node) {
    ++measured_.intra_messages;
    measured_.intra_latency_us += microseconds(now() - message.created);
    return;
  }
  ++measured_.inter_messages;
  Time before = message.created;
  for (int part = 0; part < kParts; ++part) {
    const Time left = part == far_accelerator ? now() : message.left[static_cast<std::size_t>(part)];
    measured_.inter_parts_us[static_cast<std::size_t>(part)] += microseconds(left - before);
    before = left;
  }
  measured_.longest_us = std::max(measured_.longest_us, microseconds(now() - message.created));
}

Measured Cluster::run(const std::function<void(double)>& progress) {
  constexpr int kSteps = 100;
  const Time end = setting_.warm_up + setting_.measured;
  for (int step = 1; step <= kSteps; ++step) {
    const Time until = end / kSteps * step + end % kSteps * step / kSteps;
    if (!counting_ && until > setting_.warm_up) {
      run_until(setting_.warm_up);
      counting_ = true;
    }
    run_until(until);
    if (progress) progress(static_cast<double>(step) / kSteps);
  }
  counting_ = false;
  measured_.seconds = static_cast<double>(setting_.measured) * 1e-12;
  if (measured_.intra_messages > 0) measured_.intra_latency_us /= static_cast<double>(measured_.intra_messages);
  for (double& part : measured_.inter_parts_us)
    if (measured_.inter_messages > 0) part /= static_cast<double>(measured_.inter_messages);
  measured_.events = events();
  return measured_;
}

bool Cluster::drains() {
  generating_ = false;
  run_out();
  return under_way_ == 0 && all_credits_back();
}

}  // namespace nezha_simulate
