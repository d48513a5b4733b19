// SPDX-License-Identifier: BSD-3-Clause
/// Holds back what trunks would send one by one, so that small pieces for one peer share a frame: those that answer what
/// has arrived at the same time, and those of operations that begin at the same time. Shared by all trunks of an engine,
/// and guarded by its lock.
#pragma once

#include <cstddef>
#include <vector>

namespace nezha {

class Trunk;

class Cork {
 public:
  bool on() const { return depth_ != 0; }
  /// The trunk wants to send.
  void add(Trunk& trunk) { trunks_.push_back(&trunk); }

  void begin() { ++depth_; }
  /// Sends; with `more` only what comes next does, be it another end() or send().
  void end(bool more = false) {
    if (--depth_ == 0 && !more && !trunks_.empty()) send();
  }
  /// Something was held back at an end().
  bool left() const { return depth_ == 0 && !trunks_.empty(); }
  void send();

 private:
  std::size_t depth_ = 0;
  std::vector<Trunk*> trunks_;  ///< that want to send
};

}  // namespace nezha
