// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transports.h"

#include <algorithm>

#include "rail/btl/btl_kind.h"
#include "rail/message/message_transport.h"
#ifdef NEZHA_HAVE_OFI
#include "rail/ofi/ofi.h"
#endif
#include "rail/tcp/discover.h"
#include "rail/tcp/tcp.h"
#include "rail/tcp/tcp_place.h"
#ifdef NEZHA_HAVE_VERBS
#include "rail/verbs/verbs.h"
#endif

namespace nezha {
namespace {

std::string joined(const std::vector<std::string>& words, const char* none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

/// One transport looks for its rails.
struct RailSearch {
  Core& core;
  std::uint32_t local_ranks;
  HostMessages* messages;
  bool shares_devices;  ///< its rails publish their devices: the user has not named any by this kind
  std::vector<std::string> unknown;    ///< words of rail_include, as written, that nothing here answers to
  std::vector<std::string> available;  ///< what there is, for people
  std::unique_ptr<Transport> transport;  ///< null: it has no rail
  bool found;                            ///< it had one
  std::string absent;  ///< why there can be no rail of this kind: a library is missing, or this build lacks it
};

/// Changes are heard of before the list is asked for, so that none is missed in between. A torn list has most rails; what it lacks
/// is taken up later. Null `links`: none matter, or the kernel does not tell of them.
Status find_rails(const Core& core, const DiscoverOptions& options, std::unique_ptr<LinkWatch>& links, Discovery& found) {
  if (options.single_node != 0) return discover(options, found);
  links = std::make_unique<LinkWatch>();
  const Status watched = links->open(TcpOptions().link_buffer);
  LinkTable table;
  links->list_begins();
  const Status status = read_link_table(table);
  const bool torn = status.code() == Code::busy;
  if (!status.ok() && !torn) return status;
  found = discover_in(table, options);
  links->list_ends(table, torn);
  if (watched.ok()) return {};
  core.log().line(1, "%s", watched.text().c_str());
  links.reset();
  return {};
}

/// Why there is no rail, in words for the help text "no rails": it is the only one, so what is wrong in a list is said here.
Status none_chosen(const DiscoverOptions& options, const Discovery& found) {
  const std::string there = "there are: " + joined(found.available, "none");
  if (options.include.empty())
    return {Code::no_rail, "no interface of this node can be a rail (" + there +
                               "); coll_nezha_rail_include names interfaces to use in any case"};
  std::string reason = "coll_nezha_rail_include (or btl_tcp_if_include, where that is not set) ";
  if (found.left_out.empty()) return {Code::no_rail, reason + "names only what this node does not have: " + joined(found.unknown, "") + "; " + there};
  reason += "leaves nothing that can be used: " + joined(found.left_out, "");
  for (const std::string& word : found.unknown) reason += ", " + word + ": not on this node";
  return {Code::no_rail, reason + "; " + there};
}

Status open_tcp(RailSearch& search) {
  Core& core = search.core;
  const DiscoverOptions options = tcp_rules(core.config());
  if (options.include.empty() && !core.config().rail_include.empty()) return {Code::no_rail, "coll_nezha_rail_include names none"};
  Discovery found;
  std::unique_ptr<LinkWatch> links;
  if (Status status = find_rails(core, options, links, found); !status.ok()) return status;
  search.unknown = found.unknown;
  search.available = found.available;
  for (const std::string& reason : found.left_out) core.log().line(2, "not a rail: %s", reason.c_str());
  if (found.chosen.empty()) return none_chosen(options, found);
  TcpOptions tcp;
  tcp.ports = core.config().port_range;
  tcp.local_ranks = search.local_ranks;
  tcp.first_rail = core.rails();
  tcp.share_devices = search.shares_devices;
  tcp.loopback = options.single_node == 0;
  tcp.rules = options;
  Status why;
  search.transport =
      make_tcp_transport(tcp, found.chosen, core.clock(), core.log(), core, core.self().id, &why, std::move(links));
  return why;
}

#ifdef NEZHA_HAVE_OFI
Status open_ofi(RailSearch& search) {
  Core& core = search.core;
  Status why;
  const OfiLibrary* library = OfiLibrary::load(why);
  if (library == nullptr) return why;
  OfiDiscovery found;
  const Config& config = core.config();
  why = discover_ofi(*library, config.rail_include.of_kind_alone(kOfi), config.rail_exclude.of_kind(kOfi), found);
  if (!why.ok()) return why;
  search.unknown = found.unknown;
  for (const std::string& name : found.available) search.available.push_back(std::string(kOfi) + "/" + name);
  if (found.chosen.empty())
    return {Code::no_rail, "coll_nezha_rail_include leaves none; there are: " + joined(search.available, "none")};
  std::unique_ptr<MessageKind> kind = make_ofi_kind(*library, std::move(found.chosen), core.log(), &why);
  if (!kind) return why;
  search.transport = make_message_transport(std::move(kind), ofi_options(core.rails()), core.clock(), core.log(), core,
                                            core.self().id, &why);
  return why;
}
#else
Status open_ofi(RailSearch&) { return {Code::absent, "this Nezha was built without libfabric"}; }
#endif

#ifdef NEZHA_HAVE_VERBS
Status open_verbs(RailSearch& search) {
  Core& core = search.core;
  const InterfaceList& include = core.config().rail_include;
  VerbsDiscovery found;
  Status status = discover_verbs(include, found);
  search.unknown = found.unknown;
  search.available = found.available;
  if (!status.ok()) return status;
  std::string reasons;
  for (const std::string& reason : found.left_out) {
    core.log().line(1, "not a rail: %s", reason.c_str());
    reasons += reasons.empty() ? reason : "; " + reason;
  }
  if (found.chosen.empty()) return {Code::no_rail, reasons.empty() ? "no RDMA device is named" : reasons};
  VerbsOptions verbs;
  verbs.ports = core.config().port_range;
  verbs.share_devices = search.shares_devices;
  MessageOptions messages;
  verbs.slot = messages.slot;
  std::unique_ptr<MessageKind> kind = make_verbs_kind(verbs, std::move(found.chosen), core.clock(), core.log(), status);
  if (!kind) return status;
  messages.first_rail = core.rails();
  if (verbs_can_lend()) messages.lend_from = core.config().zero_copy;
  else if (core.config().zero_copy != 0) core.log().line(0, "coll_nezha_zero_copy has no effect: it needs Linux 5.12 and rdma-core 35");
  search.transport =
      make_message_transport(std::move(kind), messages, core.clock(), core.log(), core, core.self().id, &status);
  return status;
}
bool names_verbs(const Config& config) { return may_name_verbs(config.rail_include); }
#else
Status open_verbs(RailSearch&) { return {Code::absent, "this Nezha was built without libibverbs"}; }
bool names_verbs(const Config& config) { return config.rail_include.names_kind("verbs"); }
#endif

/// All of them, unless rail_include names some, by their numbers.
Status open_btl(RailSearch& search) {
  Core& core = search.core;
  if (search.messages == nullptr) return {Code::absent, "there is no Open MPI here to send by"};
  const InterfaceList named = core.config().rail_include.of_kind_alone(kBtl);
  std::vector<std::uint8_t> modules;
  std::vector<std::string> left;
  for (const InterfaceList::Pattern& word : named.patterns()) left.push_back(word.written());
  for (int module = 0; module < core.config().btl; ++module) {
    const std::string name = std::to_string(module);
    search.available.push_back(std::string(kBtl) + "/" + name);
    const bool wanted = std::erase(left, search.available.back()) != 0 || named.empty();
    if (wanted) modules.push_back(static_cast<std::uint8_t>(module));
  }
  search.unknown = left;
  if (modules.empty()) return {Code::no_rail, "coll_nezha_rail_include leaves none; there are: " + joined(search.available, "none")};
  auto kind = std::make_unique<BtlKind>(*search.messages, std::move(modules), core.self().job_rank);
  if (Status status = kind->open(); !status.ok()) return status;
  Status why;
  search.transport = make_message_transport(std::move(kind), btl_options(core.rails()), core.clock(), core.log(), core,
                                            core.self().id, &why);
  return why;
}

bool always(const Config&) { return true; }
bool names_ofi(const Config& config) { return config.rail_include.names_kind("ofi"); }
bool has_btl(const Config& config) { return config.btl != 0; }

struct Row {
  const char* name;
  Status (*open)(RailSearch&);
  bool named_only;  ///< only where the user names rails of this kind, since TCP serves the same NICs
  bool (*wanted)(const Config& config);  ///< it may name rails of this kind; else the kind stays out of it
};
constexpr Row kTransports[] = {{"tcp", open_tcp, false, always}, {"verbs", open_verbs, false, names_verbs},
                               {"ofi", open_ofi, true, names_ofi},
                               {kBtl, open_btl, true, has_btl}};

bool speaks_of(const InterfaceList::Pattern& word, const Row& row) {
  return row.named_only ? word.kind == row.name : word.kind.empty() || word.kind == row.name;
}

/// The words of rail_include that no transport knows anything for, with the reason where their kind is absent. `searches`:
/// one for each row of kTransports.
std::vector<std::string> unknown_words(const InterfaceList& include, const std::vector<RailSearch>& searches) {
  std::vector<std::string> unknown;
  for (const InterfaceList::Pattern& word : include.patterns()) {
    bool known = false;
    std::string why;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      const std::vector<std::string>& not_here = searches[i].unknown;
      known |= speaks_of(word, kTransports[i]) && searches[i].found &&
               std::find(not_here.begin(), not_here.end(), word.written()) == not_here.end();
      if (word.kind == kTransports[i].name && !searches[i].absent.empty()) why = " (" + searches[i].absent + ")";
    }
    if (!known) unknown.push_back(word.written() + why);
  }
  return unknown;
}

std::vector<std::string> available(const std::vector<RailSearch>& searches) {
  std::vector<std::string> all;
  for (const RailSearch& search : searches) all.insert(all.end(), search.available.begin(), search.available.end());
  return all;
}

/// Why there is no rail at all. `reasons`: of each transport.
Status no_rail(const InterfaceList& include, const std::vector<std::string>& reasons) {
  std::vector<std::string> kinds, foreign;
  for (const Row& row : kTransports) kinds.emplace_back(row.name);
  for (const InterfaceList::Pattern& word : include.patterns())
    if (!word.kind.empty() && std::find(kinds.begin(), kinds.end(), word.kind) == kinds.end()) foreign.push_back(word.written());
  std::string text;
  if (!foreign.empty())
    text = "coll_nezha_rail_include names rails of a kind that there is not: " + joined(foreign, "") + " (the kinds are: " + joined(kinds, "") + "); ";
  return {Code::no_rail, text + joined(reasons, "no transport has a rail")};
}

}  // namespace

DiscoverOptions tcp_rules(const Config& config) {
  DiscoverOptions options;
  options.include = config.rail_include.of_kind(kTcp);
  options.exclude = config.rail_exclude.of_kind(kTcp);
  options.ip_version = config.ip_version;
  options.single_node = static_cast<std::size_t>(config.single_node);
  return options;
}

Status open_transports(Core& core, std::uint32_t local_ranks, HostMessages* messages, Notices& notices) {
  const InterfaceList& include = core.config().rail_include;
  std::vector<RailSearch> searches;
  std::vector<std::string> reasons;
  for (const Row& row : kTransports) {
    RailSearch& search = searches.emplace_back(RailSearch{core, local_ranks, messages, !include.names_kind(row.name), {}, {}, {}, false, {}});
    if (!row.wanted(core.config())) continue;
    const Status status = row.open(search);
    search.found = search.transport != nullptr;
    if (search.transport) {
      core.add_transport(std::move(search.transport));
    } else {
      core.log().line(1, "no %s rails: %s", row.name, status.text().c_str());
      reasons.push_back(status.text());
      if (status.code() == Code::absent) search.absent = status.text();
    }
  }
  for (const std::string& name : core.unknown_shares()) {
    std::vector<std::string> labels;
    for (const RailAddress& rail : core.self().rails) labels.push_back(rail.name);
    notices.push_back({"no such share", {name, core.self().node, joined(labels, "none")}});
  }
  for (const RailAddress& rail : core.self().rails) core.log().line(2, "rail %s", rail.label().c_str());
  if (core.rails() == 0) return no_rail(include, reasons);
  const std::vector<std::string> unknown = unknown_words(include, searches);
  if (!unknown.empty())
    notices.push_back({"no such rail", {joined(unknown, ""), core.self().node, joined(available(searches), "none")}});
  return {};
}

}  // namespace nezha
