// SPDX-License-Identifier: BSD-3-Clause
/// How a service tells systemd that it serves: sd_notify(3), whose protocol is one datagram.
#pragma once

namespace nezha {

/// Tells whoever has set NOTIFY_SOCKET, if somebody has. What fails is not told: the service serves all the same.
void notify_ready();

}  // namespace nezha
