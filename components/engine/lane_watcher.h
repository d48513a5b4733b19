// SPDX-License-Identifier: BSD-3-Clause
/// Who wants to know what happens to lanes, beside the log.
#pragma once

#include <string_view>

namespace nezha {

class LaneWatcher {
 public:
  virtual ~LaneWatcher() = default;

  /// `event`: up, suspect, answers or lost. `label` names the lane, this side's rail first.
  virtual void lane(std::string_view event, std::string_view label, std::string_view peer, std::string_view why) = 0;
};

}  // namespace nezha
