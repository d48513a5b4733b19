// SPDX-License-Identifier: BSD-3-Clause
#include "rail/tcp/discover.h"

#include <algorithm>
#include <utility>

#include "rail/rail.h"

namespace nezha {
namespace {

/// Software devices that carry nothing of their own, with the words for the log.
struct Unfit {
  const char* kind;
  const char* text;
};
constexpr Unfit kUnfit[] = {
    {"bridge", "a bridge"},     {"openvswitch", "a bridge"}, {"tun", "a tun or tap device"},
    {"dummy", "a dummy"},       {"ifb", "an ifb"},           {"wireguard", "a tunnel"},
    {"ipip", "a tunnel"},       {"sit", "a tunnel"},         {"gre", "a tunnel"},
    {"gretap", "a tunnel"},     {"erspan", "a tunnel"},      {"ip6tnl", "a tunnel"},
    {"ip6gre", "a tunnel"},     {"ip6gretap", "a tunnel"},   {"vti", "a tunnel"},
    {"vti6", "a tunnel"},       {"xfrm", "a tunnel"},        {"vxlan", "a tunnel"},
    {"geneve", "a tunnel"},     {"vrf", "a routing domain"}, {"nlmon", "a monitor"},
    {"hsr", "a ring of others"},
};

/// Why an interface of this kind is no rail unless named; empty when it may be one.
std::string unfit_by_kind(const SystemInterface& interface) {
  if (interface.loopback) return "loopback";
  if (!interface.master_kind.empty() && interface.master_kind != "vrf") return "a member of " + interface.master_kind;
  for (const Unfit& unfit : kUnfit) {
    if (interface.kind == unfit.kind) return unfit.text;
  }
  return {};
}

std::string network_text(const SystemAddress& address) {
  return address_text(address.family, address.address) + "/" + std::to_string(address.prefix);
}

std::string describe(const SystemInterface& interface) {
  std::string text = interface.name;
  std::string separator = " (";
  for (const SystemAddress& address : interface.addresses) {
    if (!address.usable) continue;
    text += separator + network_text(address);
    separator = ", ";
  }
  return separator == ", " ? text + ")" : text;
}

class Chooser {
 public:
  Chooser(const DiscoverOptions& options, Discovery& result) : options_(options), result_(result) {}

  /// Takes what `pattern` of the include list (nullptr: there is no list) says of `interface`. True when the pattern
  /// speaks of it at all.
  bool consider(const SystemInterface& interface, const InterfaceList::Pattern* pattern) {
    const bool named = pattern != nullptr && pattern->family == 0;
    if (named && pattern->text != interface.name) return false;
    if (pattern != nullptr && !named && !any_address(interface, *pattern)) return false;
    const auto same = [&](const Interface& other) { return other.name == interface.name; };
    if (std::any_of(result_.chosen.begin(), result_.chosen.end(), same)) return true;
    const std::string reason = take(interface, named ? nullptr : pattern, named);
    if (!reason.empty()) result_.left_out.push_back(interface.name + ": " + reason);
    return true;
  }

 private:
  static bool holds(const InterfaceList::Pattern& pattern, const SystemAddress& address) {
    if (pattern.family != address.family) return false;
    for (std::size_t bit = 0; bit < pattern.prefix; ++bit) {
      if (((pattern.block[bit / 8] ^ address.address[bit / 8]) & (0x80 >> (bit % 8))) != 0) return false;
    }
    return true;
  }
  static bool any_address(const SystemInterface& interface, const InterfaceList::Pattern& pattern) {
    return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                       [&](const SystemAddress& address) { return holds(pattern, address); });
  }

  /// Chooses the interface, or returns why not.
  std::string take(const SystemInterface& interface, const InterfaceList::Pattern* block, bool named) {
    const std::string unfit = named ? std::string() : unfit_by_kind(interface);
    if (!unfit.empty()) return unfit;
    if (!interface.up) return "down";
    if (!interface.carrier) return "no carrier";
    const SystemAddress* address = address_for(interface, block);
    if (address == nullptr) return "no address of the wanted kind";
    if (options_.exclude.match(interface.name, address->family, address->address)) return "excluded";
    if (result_.chosen.size() == kMaxRails) return "one rail too many, " + std::to_string(kMaxRails) + " are used";
    result_.chosen.push_back({interface.name, interface.name, address->family, address->address, address->prefix,
                              interface.speed_mbps});
    return {};
  }

  const SystemAddress* address_for(const SystemInterface& interface, const InterfaceList::Pattern* block) const {
    for (const std::uint8_t family : {4, 6}) {
      if (options_.ip_version == IpVersion::v4 && family != 4) continue;
      if (options_.ip_version == IpVersion::v6 && family != 6) continue;
      for (const SystemAddress& address : interface.addresses) {
        if (!address.usable || address.family != family) continue;
        if (block == nullptr || holds(*block, address)) return &address;
      }
    }
    return nullptr;
  }

  const DiscoverOptions& options_;
  Discovery& result_;
};

std::vector<Interface> loopback_rails(std::size_t count) {
  std::vector<Interface> rails;
  for (std::size_t i = 0; i < std::min(count, kMaxRails); ++i) {
    rails.push_back({"lo" + std::to_string(i), "lo", 4, {127, 0, 0, static_cast<std::uint8_t>(i + 1)}, 32, 0});
  }
  return rails;
}

void choose_among(std::span<const SystemInterface> present, const DiscoverOptions& options, Discovery& result) {
  Chooser chooser(options, result);
  if (options.include.empty()) {
    for (const SystemInterface& interface : present) chooser.consider(interface, nullptr);
  }
  for (const InterfaceList::Pattern& pattern : options.include.patterns()) {
    bool spoken_of = false;
    for (const SystemInterface& interface : present) spoken_of |= chooser.consider(interface, &pattern);
    if (!spoken_of) result.unknown.push_back(pattern.written());
  }
}

}  // namespace

Discovery choose_interfaces(std::span<const SystemInterface> present, const DiscoverOptions& options) {
  Discovery result;
  for (const SystemInterface& interface : present) result.available.push_back(describe(interface));
  if (options.single_node > 0) {
    result.chosen = loopback_rails(options.single_node);
    return result;
  }
  choose_among(present, options, result);
  return result;
}

std::optional<Interface> choose_interface(const SystemInterface& interface, const DiscoverOptions& options) {
  Discovery result;
  if (!interface.up || !interface.carrier || interface.addresses.empty()) return {};
  choose_among({&interface, 1}, options, result);
  return result.chosen.empty() ? std::nullopt : std::optional(std::move(result.chosen.front()));
}

Discovery discover_in(const LinkTable& table, const DiscoverOptions& options) {
  std::vector<SystemInterface> present = table.list();
  Discovery result = choose_interfaces(present, options);
  for (Interface& chosen : result.chosen) {
    const auto named = [&](const SystemInterface& each) { return each.name == chosen.name; };
    const auto found = std::find_if(present.begin(), present.end(), named);
    if (found == present.end()) continue;
    ask_speed(*found);
    chosen.speed_mbps = found->speed_mbps;
  }
  return result;
}

Status discover(const DiscoverOptions& options, Discovery& result) {
  LinkTable table;
  const Status status = read_link_table(table);
  if (!status.ok() && status.code() != Code::busy) return status;
  result = discover_in(table, options);
  return {};
}

}  // namespace nezha
