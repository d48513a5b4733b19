// SPDX-License-Identifier: BSD-3-Clause
/// Rails over TCP: one rail per interface, one socket per lane, bound to the interface's address and device.
#pragma once

#include <memory>
#include <vector>

#include "rail/rail.h"
#include "rail/tcp/interface.h"
#include "rail/tcp/link_watch.h"
#include "rail/tcp/options.h"
#include "util/log.h"

namespace nezha {

/// Opens a listener on each of `chosen`; an interface that refuses is logged and left out. nullptr when none is left,
/// with the reason in `*why`. `clock` and `admission` outlive the transport. `links`: an open watch whose table `chosen` is from;
/// null: the transport makes its own, unless its rails cannot change.
std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options, std::vector<Interface> chosen,
                                              const Clock& clock, Log log, Admission& admission, ProcessId self,
                                              Status* why, std::unique_ptr<LinkWatch> links = nullptr);

}  // namespace nezha
