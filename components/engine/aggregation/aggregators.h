// SPDX-License-Identifier: BSD-3-Clause
/// The aggregators that this process was told of: greets each in the background, has lanes to it made, and begins anew when
/// they are all gone. Guarded by the engine's lock; names are looked up by threads of their own (lookup.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/peer.h"
#include "util/clock.h"
#include "util/hmac.h"

namespace nezha {

class Core;

class Aggregators {
 public:
  /// By the core's configuration. `core` outlives this.
  explicit Aggregators(Core& core);
  ~Aggregators();

  /// There is a team: from now on they are wanted. Reads the key, the first time.
  void begin();
  /// The same with that key; or for greetings from here on.
  void begin(const Secret& key);
  void step(Nanoseconds now);
  /// When step() is to be called next; 0: no need.
  Nanoseconds next_due() const;
  /// In the order of the parameter; null: not greeted.
  std::vector<Peer*> linked() const;
  /// Why that one is not greeted; empty: that has not failed.
  std::string trouble(std::size_t place) const;

 private:
  class Link;

  Core& core_;
  bool begun_ = false;
  Secret key_{};
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace nezha
