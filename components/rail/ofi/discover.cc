// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/discover.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "rail/ofi/ofi_address.h"

namespace nezha {
namespace {

constexpr int kMemoryModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

bool link_local(const OfiIp& address) { return address.family == 6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80; }

std::string name_of(const fi_info& info) {
  return std::string(info.fabric_attr->prov_name) + ":" + info.domain_attr->name;
}

bool whole(const fi_info& info) {
  return info.fabric_attr != nullptr && info.domain_attr != nullptr && info.ep_attr != nullptr && info.tx_attr != nullptr &&
         info.fabric_attr->prov_name != nullptr && info.domain_attr->name != nullptr && info.src_addr != nullptr;
}

struct Candidate {
  const fi_info* info;
  std::size_t word;  ///< of the list, that names it
  bool by_name;      ///< its whole name, so that no other stands for it
};

std::optional<std::size_t> match(const fi_info& info, const InterfaceList& list, bool by_name) {
  const OfiIp address = ip_of(info.addr_format, source_of(info));
  return by_name ? list.match(name_of(info), 0, {}) : list.match(info.domain_attr->name, address.family, address.bytes);
}

std::optional<Candidate> named(const fi_info& info, const InterfaceList& include) {
  for (const bool by_name : {true, false})
    if (const auto word = match(info, include, by_name)) return Candidate{&info, *word, by_name};
  return {};
}

/// It has a name or an address, which need not be that of `info`, in the list.
bool excluded(const fi_info& info, const fi_info* present, const InterfaceList& list) {
  for (const fi_info* other = present; other != nullptr; other = other->next)
    if (whole(*other) && name_of(*other) == name_of(info) && (match(*other, list, true) || match(*other, list, false))) return true;
  return false;
}

/// Another one stands for it already.
bool stands_for(const Candidate& chosen, const Candidate& other) {
  if (name_of(*chosen.info) == name_of(*other.info)) return true;
  return !other.by_name && std::string_view(chosen.info->domain_attr->name) == other.info->domain_attr->name;
}

}  // namespace

OfiDiscovery choose_ofi(const OfiLibrary& library, const fi_info* present, const InterfaceList& include,
                        const InterfaceList& exclude) {
  OfiDiscovery found;
  std::vector<bool> answered(include.patterns().size());
  std::vector<Candidate> candidates;
  for (const bool ipv6 : {false, true}) {
    for (const fi_info* info = present; info != nullptr; info = info->next) {
      if (!whole(*info)) continue;
      const OfiIp address = ip_of(info->addr_format, source_of(*info));
      if ((address.family == 6) != ipv6 || link_local(address)) continue;
      if (const std::string name = name_of(*info); std::find(found.available.begin(), found.available.end(), name) == found.available.end())
        found.available.push_back(name);
      const std::optional<Candidate> candidate = named(*info, include);
      if (!candidate) continue;
      answered[candidate->word] = true;
      const auto stands = [&](const Candidate& chosen) { return stands_for(chosen, *candidate); };
      if (!excluded(*info, present, exclude) && std::none_of(candidates.begin(), candidates.end(), stands))
        candidates.push_back(*candidate);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& one, const Candidate& other) { return one.word < other.word; });
  for (std::size_t word = 0; word < answered.size(); ++word)
    if (!answered[word]) found.unknown.push_back(include.patterns()[word].written());
  for (const Candidate& each : candidates) found.chosen.push_back({name_of(*each.info), library.copy(each.info)});
  return found;
}

Status discover_ofi(const OfiLibrary& library, const InterfaceList& include, const InterfaceList& exclude, OfiDiscovery& found) {
  const OfiLibrary::Info hints = library.copy(nullptr);
  if (!hints) return {Code::no_memory, "libfabric has no memory"};
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_MSG;
  hints->domain_attr->mr_mode = kMemoryModes;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  fi_info* list = nullptr;
  const int result = library.getinfo(kOfiVersion, nullptr, nullptr, 0, hints.get(), &list);
  if (result != 0) return library.error("libfabric has no connected endpoints here: fi_getinfo", result);
  const OfiLibrary::Info present(list, OfiLibrary::FreeInfo{&library});
  found = choose_ofi(library, list, include, exclude);
  return {};
}

}  // namespace nezha
