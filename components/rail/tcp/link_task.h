// SPDX-License-Identifier: BSD-3-Clause
/// What has to be asked of the kernel about links and is not in its messages. Both questions wait for the lock under which
/// interfaces are made and deleted, so they are asked on the engine's service thread, without the engine's lock.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "rail/rail.h"
#include "rail/tcp/link_table.h"

namespace nezha {

class LinkTask final : public Task {
 public:
  /// `whole`: the list of all interfaces. `speeds`: interfaces whose speeds are wanted.
  void prepare(bool whole, std::vector<SystemInterface> speeds) {
    whole_ = whole;
    speeds_ = std::move(speeds);
    over_.store(false, std::memory_order_relaxed);
  }
  void run() override {
    if (whole_) status_ = read_link_table(list_);
    for (SystemInterface& each : speeds_) ask_speed(each);
    over_.store(true, std::memory_order_release);  // from here on this object is the transport's again
  }

  /// The answers are there; what follows may be asked then.
  bool over() const { return over_.load(std::memory_order_acquire); }
  bool whole() const { return whole_; }
  /// Of the list.
  const Status& status() const { return status_; }
  LinkTable& list() { return list_; }
  std::vector<SystemInterface> take_speeds() { return std::exchange(speeds_, {}); }

 private:
  bool whole_ = false;
  Status status_;
  LinkTable list_;
  std::vector<SystemInterface> speeds_;
  std::atomic<bool> over_ = false;
};

}  // namespace nezha
