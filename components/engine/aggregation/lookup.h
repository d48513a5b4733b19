// SPDX-License-Identifier: BSD-3-Clause
/// Where an aggregator is that a parameter names.
#pragma once

#include "rail/tcp/socket.h"
#include "util/aggregator_list.h"
#include "util/fd.h"
#include "util/status.h"

namespace nezha {

/// Any thread; may block for as long as the system's resolver likes.
Status look_up(const AggregatorList::Entry& entry, SocketAddress& place);

/// A stream that does not block and is about to be connected.
Status begin_connection(const SocketAddress& place, Fd& fd);

}  // namespace nezha
