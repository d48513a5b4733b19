// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace nezha_simulate {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::int64_t femtoseconds_per_byte(double gbps) { return std::llround(8e6 / gbps); }

Time duration(std::int64_t bytes, std::int64_t per_byte) { return bytes * per_byte / 1000; }

}  // namespace

std::int32_t Fabric::add_device(DeviceKind kind, int ports, int number, int breadth) {
  devices_.push_back({.kind = kind,
                      .ports = static_cast<std::int16_t>(ports),
                      .number = static_cast<std::int16_t>(number),
                      .breadth = static_cast<std::int16_t>(breadth),
                      .outputs = static_cast<std::int32_t>(links_.size()),
                      .inputs = static_cast<std::int32_t>(feeding_.size()),
                      .queues = static_cast<std::int32_t>(queues_.size())});
  const auto count = static_cast<std::size_t>(ports);
  links_.resize(links_.size() + count);
  feeding_.resize(feeding_.size() + count, kNone);
  input_free_at_.resize(feeding_.size());
  queues_.resize(queues_.size() + count * count);
  return static_cast<std::int32_t>(devices_.size()) - 1;
}

void Fabric::connect(std::int32_t from, int output, std::int32_t to, int input, const LinkMake& make) {
  const std::int32_t number = devices_[static_cast<std::size_t>(from)].outputs + output;
  const Device& end = devices_[static_cast<std::size_t>(to)];
  Link& link = this->link(number);
  link.flight = make.flight;
  link.buffer = link.credits = make.buffer > 0 ? make.buffer : kUnlimited;
  link.per_byte = femtoseconds_per_byte(make.gbps);
  link.onward_per_byte = femtoseconds_per_byte(make.onward_gbps);
  link.from = from;
  link.to = to;
  link.bytes_ahead = make.bytes_ahead;
  link.output = static_cast<std::int16_t>(output);
  link.input = static_cast<std::int16_t>(input);
  link.to_endpoint = end.kind == DeviceKind::endpoint;
  if (make.buffer > 0) feeding_[static_cast<std::size_t>(end.inputs + input)] = number;
}

std::int32_t Fabric::new_packet() {
  if (unused_ == kNone) {
    packets_.emplace_back();
    return static_cast<std::int32_t>(packets_.size()) - 1;
  }
  const std::int32_t number = unused_;
  unused_ = packet(number).next;
  return number;
}

void Fabric::free_packet(std::int32_t number) {
  packet(number).next = unused_;
  unused_ = number;
}

void Fabric::run_until(Time end) {
  while (!queue_.empty() && queue_.next() <= end) handle();
  now_ = end;
}

void Fabric::run_out() {
  while (!queue_.empty()) handle();
}

void Fabric::handle() {
  const Event event = queue_.pop();
  now_ = event.when;
  ++events_;
  switch (event.kind) {
    case kArrives:
      return arrives(event.what);
    case kFree:
      link(event.what).armed = false;
      return send_from(event.what);
    default:
      return happens(event.what);
  }
}

void Fabric::arrives(std::int32_t number) {
  const Packet& packet = this->packet(number);
  const Link& by = link(packet.link);
  if (by.to_endpoint) return arrived(by.to, number);
  enters(by.to, by.input, output_to(devices_[static_cast<std::size_t>(by.to)], packet.node, packet.accelerator),
         number);
}

void Fabric::enters(std::int32_t device, int input, int output, std::int32_t number) {
  const Device& in = devices_[static_cast<std::size_t>(device)];
  Queue& queue = this->queue(in, input, output);
  packet(number).next = kNone;
  packet(number).asked = now_;
  if (queue.head == kNone) {
    queue.head = number;
  } else {
    packet(queue.tail).next = number;
  }
  queue.tail = number;
  link(in.outputs + output).waiting |= std::uint64_t{1} << input;
  look_at(in.outputs + output);
}

void Fabric::arm(std::int32_t number, Time when) {
  link(number).armed = true;
  queue_.push(when, kFree, number);
}

void Fabric::look_at(std::int32_t number) {
  const Link& link = this->link(number);
  if (link.waiting == 0 || link.armed || link.needed > 0) return;
  if (link.free_at > now_) return arm(number, link.free_at);
  send_from(number);
}

/// Of the inputs that have packets for a link. Where there is none it is looked at again when the first of them is
/// idle.
std::uint64_t Fabric::idle_inputs(std::int32_t number) {
  const Link& link = this->link(number);
  if (!matched_) return link.waiting;
  const Device& device = devices_[static_cast<std::size_t>(link.from)];
  std::uint64_t idle = 0;
  Time first = std::numeric_limits<Time>::max();
  for (std::uint64_t left = link.waiting; left != 0; left &= left - 1) {
    const Time free_at = input_free_at_[static_cast<std::size_t>(device.inputs + std::countr_zero(left))];
    if (free_at <= now_) idle |= left & (~left + 1);
    first = std::min(first, free_at);
  }
  if (idle == 0) arm(number, first);
  return idle;
}

int Fabric::chosen_input(const Link& link, std::uint64_t asking) {
  if (arbiter_ == Arbiter::age && !std::has_single_bit(asking)) return oldest_input(link, asking);
  const std::uint64_t behind = asking & ~((std::uint64_t{2} << link.last_input) - 1);
  return std::countr_zero(behind != 0 ? behind : asking);
}

int Fabric::oldest_input(const Link& link, std::uint64_t asking) {
  const Device& device = devices_[static_cast<std::size_t>(link.from)];
  int oldest = 0;
  Time asked = std::numeric_limits<Time>::max();
  for (std::uint64_t left = asking; left != 0; left &= left - 1) {
    const int input = std::countr_zero(left);
    const Time own = packet(queue(device, input, link.output).head).asked;
    if (own >= asked) continue;
    asked = own;
    oldest = input;
  }
  return oldest;
}

void Fabric::send_from(std::int32_t number) {
  Link& link = this->link(number);
  if (link.waiting == 0) return;
  const std::uint64_t asking = idle_inputs(number);
  if (asking == 0) return;
  const int input = chosen_input(link, asking);
  const Device& device = devices_[static_cast<std::size_t>(link.from)];
  Queue& queue = this->queue(device, input, link.output);
  const std::int32_t sent = queue.head;
  Packet& packet = this->packet(sent);
  if (!has_credits(number, packet.bytes)) return;
  queue.head = packet.next;
  if (queue.head == kNone) link.waiting &= ~(std::uint64_t{1} << input);
  link.last_input = static_cast<std::uint8_t>(input);
  link.credits -= packet.bytes;
  link.free_at = now_ + duration(packet.bytes, link.per_byte);
  input_free_at_[static_cast<std::size_t>(device.inputs + input)] = link.free_at;
  const std::int32_t source = feeding_[static_cast<std::size_t>(device.inputs + input)];
  if (source != kNone && packet.held > 0) give_back(source, packet.held, link.free_at + this->link(source).flight);
  goes(number, sent);
  if (device.kind == DeviceKind::endpoint) leaves(link.from, this->packet(sent));
  look_at(number);
}

void Fabric::goes(std::int32_t number, std::int32_t sent) {
  const Link& link = this->link(number);
  Packet& packet = this->packet(sent);
  packet.held = packet.bytes;
  packet.link = number;
  const Time header = now_ + duration(std::min(packet.bytes, link.bytes_ahead), link.per_byte);
  const Time in_time = link.free_at - duration(packet.bytes, link.onward_per_byte);
  queue_.push(link.flight + (link.to_endpoint ? link.free_at : std::max(header, in_time)), kArrives, sent);
}

/// Without enough of them the link is looked at again when there are.
bool Fabric::has_credits(std::int32_t number, std::int32_t bytes) {
  Link& link = this->link(number);
  while (!link.returning.empty() && link.returning.front().when <= now_) {
    link.credits += link.returning.front().bytes;
    link.returning.pop_front();
  }
  if (link.credits >= bytes) return true;
  std::int64_t credits = link.credits;
  for (const Credit& credit : link.returning) {
    credits += credit.bytes;
    if (credits < bytes) continue;
    arm(number, credit.when);
    return false;
  }
  link.needed = bytes;
  return false;
}

/// Credits come back in the order in which they were given.
void Fabric::give_back(std::int32_t number, std::int32_t bytes, Time when) {
  Link& link = this->link(number);
  if (!link.returning.empty()) when = std::max(when, link.returning.back().when);
  link.returning.push_back({when, bytes});
  if (link.needed == 0) return;
  std::int64_t credits = link.credits;
  for (const Credit& credit : link.returning) credits += credit.bytes;
  if (credits < link.needed) return;
  link.needed = 0;
  arm(number, when);
}

bool Fabric::all_credits_back() {
  return std::all_of(links_.begin(), links_.end(), [](const Link& link) {
    std::int64_t credits = link.credits;
    for (const Credit& credit : link.returning) credits += credit.bytes;
    return credits == link.buffer || link.buffer == kUnlimited;
  });
}

}  // namespace nezha_simulate
