// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs.h"

#include <net/if.h>

#include <algorithm>
#include <utility>

#include "rail/verbs/verbs_kind.h"

namespace nezha {
namespace {

bool is_name_of(const InterfaceList::Pattern& word, const VerbsDevice& device) {
  return word.family == 0 &&
         (word.text == device.name() || word.text == device.name() + ":" + std::to_string(device.port()));
}

/// The device's address that word `index` means; null: none.
const VerbsAddress* find_address(const InterfaceList& list, std::size_t index, const VerbsDevice& device) {
  if (list.patterns()[index].kind.empty()) return nullptr;  // an interface's name alone means TCP
  const auto found = std::find_if(device.addresses().begin(), device.addresses().end(), [&](const VerbsAddress& each) {
    return list.match(each.interface, each.place.family, each.place.address) == index;
  });
  return found == device.addresses().end() ? nullptr : &*found;
}

}  // namespace

std::string verbs_rail_name(const VerbsDevice& device) {
  return device.port() == 1 ? device.name() : device.name() + ":" + std::to_string(device.port());
}

bool may_name_verbs(const InterfaceList& include) {
  const InterfaceList words = include.of_kind(kVerbs);
  return std::any_of(words.patterns().begin(), words.patterns().end(), [](const InterfaceList::Pattern& word) {
    return !word.kind.empty() || (word.family == 0 && if_nametoindex(word.text.c_str()) == 0);
  });
}

Status discover_verbs(const InterfaceList& include, VerbsDiscovery& found) {
  Status why;
  const VerbsLibrary* verbs = load_verbs(why);
  if (verbs == nullptr) return why;
  found = choose_verbs(open_verbs_devices(*verbs), include);
  return {};
}

VerbsDiscovery choose_verbs(std::vector<std::unique_ptr<VerbsDevice>> devices, const InterfaceList& include) {
  VerbsDiscovery found;
  std::vector<Status> looked;
  for (const auto& device : devices) {
    looked.push_back(device->look());
    if (!looked.back().ok()) found.left_out.push_back(device->name() + ": " + looked.back().text());
    found.available.push_back(std::string(kVerbs) + "/" + verbs_rail_name(*device));
  }
  std::vector<std::size_t> chosen;
  const InterfaceList words = include.of_kind(kVerbs);
  for (std::size_t word = 0; word < words.patterns().size(); ++word) {
    bool known = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const VerbsAddress* const address = find_address(words, word, *devices[i]);
      if (address == nullptr && !is_name_of(words.patterns()[word], *devices[i])) continue;
      known = true;
      if (!looked[i].ok() || std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      chosen.push_back(i);
      if (address != nullptr) devices[i]->choose(*address);
    }
    if (!known) found.unknown.push_back(words.patterns()[word].written());
  }
  for (const std::size_t i : chosen) found.chosen.push_back(std::move(devices[i]));
  return found;
}

bool verbs_can_lend() {
  Status why;
  const VerbsLibrary* verbs = load_verbs(why);
  return verbs != nullptr && verbs->fork_hides_nothing;
}

std::unique_ptr<MessageKind> make_verbs_kind(const VerbsOptions& options,
                                             std::vector<std::unique_ptr<VerbsDevice>> chosen, const Clock& clock,
                                             Log log, Status& why) {
  auto kind = std::make_unique<VerbsKind>(options, clock, log);
  why = kind->open(std::move(chosen));
  if (!why.ok()) return nullptr;
  return kind;
}

}  // namespace nezha
