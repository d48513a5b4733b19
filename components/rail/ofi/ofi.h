// SPDX-License-Identifier: BSD-3-Clause
/// Rails of libfabric, one per domain: over connected endpoints, one per lane, or over one endpoint without connections.
#pragma once

#include <memory>
#include <vector>

#include "rail/message/options.h"
#include "rail/message/queue_pair.h"
#include "rail/ofi/discover.h"
#include "util/log.h"

namespace nezha {

inline constexpr char kOfi[] = "ofi";

/// `first_rail`: index of the kind's first rail in the process's list of rails.
MessageOptions ofi_options(std::size_t first_rail);

/// Opens each of `chosen`; one that refuses is logged and left out. nullptr when none is left, with the reason in `*why`.
std::unique_ptr<MessageKind> make_ofi_kind(const OfiLibrary& library, std::vector<OfiChoice> chosen, Log log, Status* why);

}  // namespace nezha
