// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs.h"

#include <net/if.h>

#include <algorithm>
#include <utility>

#include "rail/verbs/verbs_kind.h"

namespace nezha {
namespace {

bool answers_to(const InterfaceList::Pattern& word, const InterfaceList& list, std::size_t index, const VerbsDevice& device) {
  if (word.family == 0 && (word.text == device.name() || word.text == device.name() + ":" + std::to_string(device.port()))) return true;
  if (word.kind.empty() || device.place().family == 0) return false;  // an interface's name alone means TCP
  return list.match(device.interface(), device.place().family, device.place().address) == index;
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
  std::vector<std::unique_ptr<VerbsDevice>> devices = open_verbs_devices(*verbs);
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
      if (!answers_to(words.patterns()[word], words, word, *devices[i])) continue;
      known = true;
      if (looked[i].ok() && std::find(chosen.begin(), chosen.end(), i) == chosen.end()) chosen.push_back(i);
    }
    if (!known) found.unknown.push_back(words.patterns()[word].written());
  }
  for (const std::size_t i : chosen) found.chosen.push_back(std::move(devices[i]));
  return {};
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
