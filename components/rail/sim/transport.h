// SPDX-License-Identifier: BSD-3-Clause
/// The rails of one simulated process.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rail/sim/lane.h"
#include "rail/sim/network.h"
#include "rail/sim/port.h"

namespace nezha {

class SimTransport final : public Transport {
 public:
  /// `ports`, `network` and `admission` outlive the transport, and the ports all events of the network. `first_rail` is
  /// the index of the first port among the process's rails. `on_work` is called when progress() has something to do.
  SimTransport(SimNetwork& network, ProcessId self, std::vector<SimPort*> ports, std::size_t first_rail,
               Admission& admission, std::function<void()> on_work);
  ~SimTransport() override;

  std::span<const RailAddress> rails() const override { return rails_; }
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) override;
  bool progress(Watch watch) override;
  void doze() override { dozing_ = true; }
  int wait_fd(Watch) const override { return -1; }
  Nanoseconds next_deadline() const override { return 0; }
  void forget(Lane& lane) override;

  // ---- faults
  /// Takes a port down or up again. Ends of lanes through it find out one by one, unless it is up again before.
  void set_up(std::size_t port, bool up);
  /// This end of a lane breaks. What its kernel has still goes out (`linger`) or is lost; then the other end finds out.
  void break_lane(std::size_t index, bool linger);
  std::size_t lanes() const { return lanes_.size(); }
  /// Bytes of ours under way on that lane.
  std::size_t fill(std::size_t index) const { return lanes_[index]->fill(); }
  std::size_t lanes_alive() const;

 private:
  struct Attempt;
  using Shared = std::shared_ptr<Attempt>;

  void wake() { on_work_(); }
  void notice_later(const SimPort& down);
  void break_serial(std::uint64_t serial, const SimPort& down, std::uint64_t outage);
  /// Calls `what` in progress() of that process after `delay`, if the way is open then and the process still there.
  static void tell(SimNetwork& network, const Shared& attempt, ProcessId to,
                   void (SimTransport::*what)(const Shared&));
  void knocked(const Shared& attempt);
  void answered(const Shared& attempt);
  void refused(const Shared& attempt);
  void too_late(const Shared& attempt);
  void give_up(const Shared& attempt, Code code, const char* why);
  LaneEvents& open_lane(const LaneSpec& spec, SimPort& port, std::shared_ptr<SimStream> out,
                        std::shared_ptr<SimStream> in);

  SimNetwork& network_;
  const ProcessId self_;
  const std::vector<SimPort*> ports_;
  const std::size_t first_rail_;
  Admission& admission_;
  const std::function<void()> on_work_;
  std::vector<RailAddress> rails_;
  std::vector<std::unique_ptr<SimLane>> lanes_;
  std::uint64_t serial_ = 0;
  std::uint64_t attempts_ = 0;
  bool dozing_ = false;
  std::deque<std::function<void()>> inbox_;  ///< what the network has for progress()
};

}  // namespace nezha
