// SPDX-License-Identifier: BSD-3-Clause
/// Where an aggregator is that a parameter names.
#pragma once

#include <memory>
#include <vector>

#include "rail/tcp/socket.h"
#include "util/aggregator_list.h"
#include "util/fd.h"
#include "util/status.h"

namespace nezha {

/// All addresses of it, in the order in which they are to be tried. Any thread; may block for as long as the system's resolver likes.
Status look_up(const AggregatorList::Entry& entry, std::vector<SocketAddress>& places);

/// A look-up by a thread of its own. Nobody waits for that thread: its end is looked for, or this ends before it.
class Lookup {
 public:
  void begin(const AggregatorList::Entry& entry);
  /// The latest one that was begun.
  bool over() const;

  // ---- once it is over
  const Status& status() const;
  /// At least one where that is ok.
  const std::vector<SocketAddress>& places() const;

 private:
  struct State;

  std::shared_ptr<State> state_;  ///< shared with the thread
};

/// A stream that does not block and is about to be connected.
Status begin_connection(const SocketAddress& place, Fd& fd);

}  // namespace nezha
