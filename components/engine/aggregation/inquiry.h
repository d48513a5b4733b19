// SPDX-License-Identifier: BSD-3-Clause
/// Asks an aggregator whether it would serve a job of this node, for tools: a greeting by a process without rails, which the
/// aggregator answers and does not count as a client. Any thread; blocks, for some seconds where nobody answers.
#pragma once

#include <string>

#include "engine/address.h"
#include "util/aggregator_list.h"
#include "util/clock.h"
#include "util/hmac.h"
#include "util/status.h"

namespace nezha {

struct AggregatorAnswer {
  Status status;         ///< not ok: why it would not be used
  Address address;       ///< of the aggregator
  Nanoseconds took = 0;  ///< from the connection to its last word
};

AggregatorAnswer ask_aggregator(const AggregatorList::Entry& entry, const Secret& key, const std::string& node);

}  // namespace nezha
