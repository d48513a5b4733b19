// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace nezha {

/// Which addresses of an interface become rails. automatic: IPv4 where the interface has one, else IPv6.
enum class IpVersion { automatic, v4, v6 };

}  // namespace nezha
