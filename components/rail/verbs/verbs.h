// SPDX-License-Identifier: BSD-3-Clause
/// Rails over RDMA verbs: one for each port of a device that is asked for, InfiniBand or RoCE v2. Messages go by SEND from and to
/// memory of the rail's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_options.h"
#include "util/interface_list.h"
#include "util/log.h"

namespace nezha {

inline constexpr char kVerbs[] = "verbs";
constexpr std::uint8_t kVerbsPrecedence = 100;  ///< before TCP's, where both are on one NIC

/// "mlx5_0", and for other ports than the first "mlx5_0:2".
std::string verbs_rail_name(const VerbsDevice& device);

struct VerbsDiscovery {
  std::vector<std::unique_ptr<VerbsDevice>> chosen;
  std::vector<std::string> available;  ///< names of what there is, used or not
  std::vector<std::string> left_out;   ///< what cannot be a rail, with the reason
  std::vector<std::string> unknown;    ///< words, as written, that no device answers to
};

/// Whether the list may name a verbs rail: it has a word for verbs alone, or a name that no network interface has. Nothing of
/// libibverbs is touched before.
bool may_name_verbs(const InterfaceList& include);
/// The devices that `include` names: by name (mlx5_0), name and port (mlx5_0:1), and in words for verbs alone (verbs/eth0,
/// verbs/10.1.0.0/16) also by the interface, or its address, which is then the rail's. In the order of the list.
Status discover_verbs(const InterfaceList& include, VerbsDiscovery& found);
/// Of these, opened and not looked at.
VerbsDiscovery choose_verbs(std::vector<std::unique_ptr<VerbsDevice>> devices, const InterfaceList& include);

/// NICs can read memory of the application's: a child of fork() has its pages nevertheless.
bool verbs_can_lend();

/// nullptr when none of `chosen` can be a rail, with the reason in `why`.
std::unique_ptr<MessageKind> make_verbs_kind(const VerbsOptions& options,
                                             std::vector<std::unique_ptr<VerbsDevice>> chosen, const Clock& clock,
                                             Log log, Status& why);

}  // namespace nezha
