// SPDX-License-Identifier: BSD-3-Clause
/// Which domains of libfabric's providers become rails. None without being named.
///
/// A rail is called PROVIDER:DOMAIN ("tcp:eth0", "verbs:mlx5_0"). A word of the list is that, the domain alone (of the first
/// provider that has it), or a block of addresses that its address is in, where it has one of IP. A domain that has several
/// addresses is one rail, at the first of IPv4 or else of what there is.
#pragma once

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

/// The rules, on what libfabric lists.
OfiDiscovery choose_ofi(const OfiLibrary& library, const fi_info* present, const InterfaceList& include,
                        const InterfaceList& exclude);

/// Asks libfabric for connected endpoints, which takes some milliseconds. Not ok: it has none.
Status discover_ofi(const OfiLibrary& library, const InterfaceList& include, const InterfaceList& exclude, OfiDiscovery& found);

}  // namespace nezha
