// SPDX-License-Identifier: BSD-3-Clause
/// The table of transports: a new kind of rail is one folder and one row in transports.cc.
#pragma once

#include <cstdint>

#include "engine/core.h"
#include "engine/notices.h"
#include "rail/btl/host_messages.h"
#include "rail/tcp/discover.h"

namespace nezha {

/// Finds the rails of every transport and adds them to the core. What the user should know (names that do not exist,
/// rails that could not be opened) goes to `notices`. `local_ranks` of the job share this node's ports; 0: unknown. `messages`
/// are the host's, null where it has none. Not ok: there is no rail at all.
Status open_transports(Core& core, std::uint32_t local_ranks, HostMessages* messages, Notices& notices);

/// Which interfaces the user wants as TCP rails.
DiscoverOptions tcp_rules(const Config& config);

}  // namespace nezha
