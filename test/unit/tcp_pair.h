// SPDX-License-Identifier: BSD-3-Clause
/// Two TCP transports in one process over loopback rails, driven by the test's thread, with a clock that only the test
/// moves. What each side is told is recorded.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rail/tcp/discover.h"
#include "rail/tcp/socket.h"
#include "rail/tcp/tcp.h"

namespace nezha::test {

class HandClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  void advance(Nanoseconds by) { now_ += by; }

 private:
  Nanoseconds now_ = kSecond;
};

/// Frames of one lane, received into memory of the test.
class FrameLog : public LaneEvents {
 public:
  struct Frame {
    std::vector<std::byte> header, payload;
    bool operator==(const Frame&) const = default;
  };

  Status frame_begins(Lane& lane, std::span<const std::byte> header, std::size_t payload,
                      ScatterList& into) override {
    current.header.assign(header.begin(), header.end());
    current.payload.assign(payload, std::byte{0});
    scatter(into);
    if (on_begin) return on_begin(lane);
    return {};
  }
  Status frame_ends(Lane& lane) override {
    frames.push_back(current);
    return on_end ? on_end(lane) : Status{};
  }
  void lane_free(Lane&) override { ++freed; }
  void lane_down(Lane& lane, const Status& why) override {
    downs.push_back(why.text());
    if (on_down) on_down(lane);
  }

  /// How the payload is laid out; by default one place.
  std::function<void(ScatterList&, std::vector<std::byte>&)> lay_out;
  std::function<Status(Lane&)> on_begin, on_end;
  std::function<void(Lane&)> on_down;
  Frame current;
  std::vector<Frame> frames;
  std::vector<std::string> downs;
  int freed = 0;

 private:
  void scatter(ScatterList& into) {
    if (lay_out) return lay_out(into, current.payload);
    into.segments[0] = {current.payload.data(), current.payload.size()};
    into.count = 1;
  }
};

/// One process: its transport, what it admits, what it was told.
class Side final : public Admission {
 public:
  /// Of another kind of transport, which the test makes.
  explicit Side(ProcessId id) : self(id) { secret_bytes.fill(7); }
  Side(ProcessId id, const Clock& clock, const TcpOptions& options = {}, std::size_t rails = 2) : self(id) {
    secret_bytes.fill(7);
    DiscoverOptions choice;
    choice.single_node = rails;
    open(choose_interfaces({}, choice).chosen, clock, options);
  }
  Side(ProcessId id, const Clock& clock, const TcpOptions& options, std::vector<Interface> interfaces) : self(id) {
    secret_bytes.fill(7);
    open(std::move(interfaces), clock, options);
  }

  const std::array<std::uint8_t, 32>* secret(ProcessId peer) const override {
    return peer == known ? &secret_bytes : nullptr;
  }
  bool expects(const LaneSpec& spec) const override { return !refuse || !refuse(spec); }
  bool wants(const LaneSpec&) const override { return of_use; }
  LaneEvents& lane_up(Lane& lane) override {
    lanes.push_back(&lane);
    logs.push_back(std::make_unique<FrameLog>());
    if (on_up) on_up(*logs.back());
    return *logs.back();
  }
  void lane_failed(const LaneSpec& spec, const Status& why) override {
    failed.push_back(spec);
    failures.push_back(why.text());
  }
  std::optional<std::uint8_t> rail_added(Transport&, const RailAddress& address) override {
    if (on_new_rail) on_new_rail(address);
    return {};
  }

  static void write_line(void* ctx, int, const char* line) { static_cast<Side*>(ctx)->lines.emplace_back(line); }
  bool logged(const std::string& part) const {
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

  ProcessId self;
  ProcessId known = 0;
  std::array<std::uint8_t, 32> secret_bytes{};
  std::function<bool(const LaneSpec&)> refuse;
  bool of_use = true;  ///< what connects
  std::function<void(FrameLog&)> on_up;
  std::function<void(const RailAddress&)> on_new_rail;  ///< it takes none
  std::vector<Lane*> lanes;
  std::vector<std::unique_ptr<FrameLog>> logs;
  std::vector<LaneSpec> failed;
  std::vector<std::string> failures;
  std::vector<std::string> lines;
  Status why;
  std::unique_ptr<Transport> transport;  ///< last: it goes first

 private:
  void open(std::vector<Interface> interfaces, const Clock& clock, const TcpOptions& options) {
    transport =
        make_tcp_transport(options, std::move(interfaces), clock, Log(write_line, this, 2), *this, self, &why);
  }
};

/// Drives all sides until `done`, or for at most five seconds. False: it never came to that.
template <typename Done, typename... Sides>
bool drive(const Done& done, Sides&... sides) {
  for (int idle = 0; idle < 5000;) {
    const bool any = (sides.transport->progress(Watch::all) | ...);
    if (done()) return true;
    if (any) continue;
    ++idle;
    std::vector<pollfd> set{{sides.transport->wait_fd(Watch::all), POLLIN, 0}...};
    poll(set.data(), set.size(), 1);
  }
  return false;
}

/// For what must not happen: until nothing has been happening for 50 ms.
template <typename... Sides>
void settle(Sides&... sides) {
  for (int idle = 0; idle < 50;) {
    if ((sides.transport->progress(Watch::all) | ...)) {
      idle = 0;
    } else {
      poll(nullptr, 0, 1);
      ++idle;
    }
  }
}

class TcpPair : public testing::Test {
 protected:
  TcpPair() { a.known = b.self, b.known = a.self; }

  void connect(std::size_t rail, const RailAddress& remote) {
    const auto index = static_cast<std::uint8_t>(rail);
    a.transport->connect({b.self, index, index, true}, rail, remote, clock.now() + kSecond);
  }
  void connect(std::size_t rail) { connect(rail, b.transport->rails()[rail]); }
  /// A lane on `rail`, up on both sides.
  [[nodiscard]] bool join(std::size_t rail = 0) {
    const std::size_t lanes = a.lanes.size();
    connect(rail);
    return drive([&] { return a.lanes.size() > lanes && b.lanes.size() > lanes; }, a, b);
  }

  HandClock clock;
  Side a{11, clock}, b{22, clock};
};

}  // namespace nezha::test
