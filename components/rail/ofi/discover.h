// SPDX-License-Identifier: BSD-3-Clause
/// Which domains of libfabric's providers become rails. None without being named.
///
/// A domain is used by connected endpoints (FI_EP_MSG), or by one without connections (FI_EP_RDM) if its provider has no others. A
/// layered provider, such as "tcp;ofi_rxm", is one of its own and has the latter alone.
///
/// A rail is called PROVIDER:DOMAIN ("tcp:eth0", "verbs:mlx5_0"). A word of the list is that, the domain alone (of the first
/// provider that has it), or a block of addresses that its address is in, where it has one of IP. A domain that has several
/// addresses is one rail, at the first of IPv4 or else of what there is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rail/ofi/library.h"
#include "util/interface_list.h"

namespace nezha {

struct OfiChoice {
  std::string name;
  OfiLibrary::Info info;
};

struct OfiDiscovery {
  std::vector<OfiChoice> chosen;       ///< in the order of the list
  std::vector<std::string> unknown;    ///< words of the list that nothing here answers to, as written
  std::vector<std::string> available;  ///< names of all
};

/// The rules, on what libfabric lists: of several of one name and format the first is used.
OfiDiscovery choose_ofi(const OfiLibrary& library, std::span<const fi_info* const> present, const InterfaceList& include,
                        const InterfaceList& exclude);

/// Asks libfabric for endpoints, which takes some milliseconds. Not ok: it has none.
Status discover_ofi(const OfiLibrary& library, const InterfaceList& include, const InterfaceList& exclude, OfiDiscovery& found);

}  // namespace nezha
