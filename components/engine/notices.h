// SPDX-License-Identifier: BSD-3-Clause
/// Help texts that are due. They come up under the engine's lock and on any thread, and are shown later by a thread
/// that the host gave us.
#pragma once

#include <string>
#include <vector>

namespace nezha {

struct Notice {
  std::string topic;  ///< a section of help-coll-nezha.txt
  std::vector<std::string> arguments;
};

using Notices = std::vector<Notice>;

}  // namespace nezha
