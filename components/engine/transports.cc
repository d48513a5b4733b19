// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transports.h"

#include "rail/tcp/discover.h"
#include "rail/tcp/tcp.h"

namespace nezha {
namespace {

std::string joined(const std::vector<std::string>& words, const char* none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

/// Changes are heard of before the list is asked for, so that none is missed in between. Null `links`: none matter, or the
/// kernel does not tell of them.
Status find_rails(const Core& core, const DiscoverOptions& options, std::unique_ptr<LinkWatch>& links, Discovery& found) {
  if (options.single_node != 0) return discover(options, found);
  links = std::make_unique<LinkWatch>();
  const Status watched = links->open(TcpOptions().link_buffer);
  LinkTable table;
  links->list_begins();
  if (Status status = read_link_table(table); !status.ok()) return status;
  found = discover_in(table, options);
  links->list_ends(table);
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

Status open_tcp(Core& core, std::uint32_t local_ranks, Notices& notices, std::unique_ptr<Transport>& transport) {
  DiscoverOptions options;
  options.include = core.config().rail_include;
  options.exclude = core.config().rail_exclude;
  options.ip_version = core.config().ip_version;
  options.single_node = static_cast<std::size_t>(core.config().single_node);
  Discovery found;
  std::unique_ptr<LinkWatch> links;
  if (Status status = find_rails(core, options, links, found); !status.ok()) return status;
  if (!found.unknown.empty() && !found.chosen.empty())
    notices.push_back({"no such rail", {joined(found.unknown, ""), core.self().node, joined(found.available, "none")}});
  for (const std::string& reason : found.left_out) core.log().line(2, "not a rail: %s", reason.c_str());
  if (found.chosen.empty()) return none_chosen(options, found);
  TcpOptions tcp;
  tcp.ports = core.config().port_range;
  tcp.local_ranks = local_ranks;
  tcp.first_rail = core.rails();
  tcp.loopback = options.single_node == 0;
  tcp.rules = options;
  Status why;
  transport = make_tcp_transport(tcp, found.chosen, core.clock(), core.log(), core, core.self().id, &why, std::move(links));
  return why;
}

struct Row {
  const char* name;
  Status (*open)(Core&, std::uint32_t local_ranks, Notices&, std::unique_ptr<Transport>&);
};
constexpr Row kTransports[] = {{"tcp", open_tcp}};

}  // namespace

Status open_transports(Core& core, std::uint32_t local_ranks, Notices& notices) {
  Status last;
  for (const Row& row : kTransports) {
    std::unique_ptr<Transport> transport;
    const Status status = row.open(core, local_ranks, notices, transport);
    if (transport) {
      core.add_transport(std::move(transport));
    } else {
      core.log().line(1, "no %s rails: %s", row.name, status.text().c_str());
      last = status;
    }
  }
  for (const std::string& name : core.unknown_shares()) {
    std::vector<std::string> labels;
    for (const RailAddress& rail : core.self().rails) labels.push_back(rail.name);
    notices.push_back({"no such share", {name, core.self().node, joined(labels, "none")}});
  }
  for (const RailAddress& rail : core.self().rails) core.log().line(2, "rail %s", rail.label().c_str());
  if (core.rails() != 0) return {};
  return last.ok() ? Status{Code::no_rail, "no transport has a rail"} : last;
}

}  // namespace nezha
