/* SPDX-License-Identifier: BSD-3-Clause */
/// Which messages of some traffic may be sent, as others arrive.
#pragma once

#include <cstdint>
#include <vector>

#include "traffic.h"

namespace nezha_simulate {

class Replay {
 public:
  explicit Replay(const Traffic& traffic);

  /// Those that wait for nothing.
  const std::vector<std::int32_t>& first() const { return first_; }
  /// So many bytes of a message have come. True: these were the last.
  bool arrived(std::int32_t message, std::int64_t bytes);
  /// After the last bytes of a message: calls send(other) for those that wait for nothing any more.
  template <typename Send>
  void release(std::int32_t message, Send send) {
    for (const std::int32_t other : waiting_[static_cast<std::size_t>(message)])
      if (--missing_[static_cast<std::size_t>(other)] == 0) send(other);
  }
  bool over() const { return left_ == 0; }

 private:
  std::vector<std::int64_t> bytes_;                 ///< by message: to come
  std::vector<std::int32_t> missing_;               ///< by message: how many it waits for
  std::vector<std::vector<std::int32_t>> waiting_;  ///< by message: those that wait for it
  std::vector<std::int32_t> first_;
  std::size_t left_;
};

}  // namespace nezha_simulate
