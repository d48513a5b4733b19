// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/discover.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "rail/ofi/ofi_address.h"
#include "rail/ofi/rdm_wire.h"

namespace nezha {
namespace {

constexpr int kMemoryModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

bool link_local(const OfiIp& address) { return address.family == 6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80; }

std::string name_of(const fi_info& info) {
  return std::string(info.fabric_attr->prov_name) + ":" + info.domain_attr->name;
}

/// An endpoint without connections need not say beforehand where it will be.
bool usable(const fi_info& info) {
  const bool whole = info.fabric_attr != nullptr && info.domain_attr != nullptr && info.ep_attr != nullptr && info.tx_attr != nullptr &&
                     info.fabric_attr->prov_name != nullptr && info.domain_attr->name != nullptr;
  if (!whole) return false;
  return info.ep_attr->type == FI_EP_RDM ? std::bit_width(info.ep_attr->mem_tag_format) >= kTagBits : info.src_addr != nullptr;
}

/// By another kind of endpoint.
bool among(std::span<const fi_info* const> present, const fi_info& info) {
  return std::any_of(present.begin(), present.end(), [&](const fi_info* other) { return name_of(*other) == name_of(info); });
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
bool excluded(const fi_info& info, std::span<const fi_info* const> present, const InterfaceList& list) {
  for (const fi_info* other : present)
    if (name_of(*other) == name_of(info) && (match(*other, list, true) || match(*other, list, false))) return true;
  return false;
}

/// Another one stands for it already.
bool stands_for(const Candidate& chosen, const Candidate& other) {
  if (name_of(*chosen.info) == name_of(*other.info)) return true;
  return !other.by_name && std::string_view(chosen.info->domain_attr->name) == other.info->domain_attr->name;
}

/// What Nezha asks for of either endpoint. Null: no memory.
OfiLibrary::Info hints_for(const OfiLibrary& library, fi_ep_type endpoint, std::uint64_t capabilities) {
  OfiLibrary::Info hints = library.copy(nullptr);
  if (!hints) return hints;
  hints->caps = capabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = endpoint;
  hints->domain_attr->mr_mode = kMemoryModes;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  if (endpoint == FI_EP_RDM) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  return hints;
}

/// In the order in which they are preferred: connected endpoints, then those that take messages of one sender alone, then others.
constexpr struct {
  fi_ep_type endpoint;
  std::uint64_t capabilities;
} kEndpoints[] = {{FI_EP_MSG, FI_MSG}, {FI_EP_RDM, FI_TAGGED | FI_DIRECTED_RECV}, {FI_EP_RDM, FI_TAGGED}};

/// libfabric 2.1's ofi_rxm ends the process when it is closed in the middle of a message that it has cut into segments, as when a
/// peer dies. It asks for its variables once, when libfabric is first used.
void have_rxm_cut_no_messages(const InterfaceList& include) {
  for (const InterfaceList::Pattern& word : include.patterns())
    if (word.text.find("ofi_rxm") != std::string::npos) setenv("FI_OFI_RXM_SAR_LIMIT", "0", 0);
}

}  // namespace

OfiDiscovery choose_ofi(const OfiLibrary& library, std::span<const fi_info* const> present, const InterfaceList& include,
                        const InterfaceList& exclude) {
  OfiDiscovery found;
  std::vector<bool> answered(include.patterns().size());
  std::vector<Candidate> candidates;
  for (const bool ipv6 : {false, true}) {
    for (const fi_info* info : present) {
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
  have_rxm_cut_no_messages(include);
  std::vector<OfiLibrary::Info> lists;
  std::vector<const fi_info*> present;
  Status none;
  for (const auto& [endpoint, capabilities] : kEndpoints) {
    const OfiLibrary::Info hints = hints_for(library, endpoint, capabilities);
    if (!hints) return {Code::no_memory, "libfabric has no memory"};
    fi_info* list = nullptr;
    const int result = library.getinfo(kOfiVersion, nullptr, nullptr, 0, hints.get(), &list);
    if (result != 0 && none.ok()) none = library.error("libfabric has no endpoints here: fi_getinfo", result);
    if (result != 0) continue;
    lists.emplace_back(list, OfiLibrary::FreeInfo{&library});
    const std::vector<const fi_info*> before = present;
    for (const fi_info* info = list; info != nullptr; info = info->next)
      if (usable(*info) && !among(before, *info)) present.push_back(info);
  }
  if (lists.empty()) return none;
  found = choose_ofi(library, present, include, exclude);
  return {};
}

}  // namespace nezha
