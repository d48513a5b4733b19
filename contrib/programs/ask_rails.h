// SPDX-License-Identifier: BSD-3-Clause
/// Which rails a job would have on this node, and why others are none.
#pragma once

#include "nezha/nezha.h"

namespace nezha {

/// Prints facts: "rail NAME DEVICE ADDRESS PREFIX MBITS PCI", with only the name where the rail is not one of TCP; "left_out NAME
/// REASON", "unknown WORD", "available NAME", and what aggregators answer. Returns an exit status. The parameters `trace` and
/// `table_save` are emptied.
int ask_rails(nezha_config_t& handle);

}  // namespace nezha
