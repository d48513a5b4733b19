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

Status open_tcp(Core& core, Notices& notices, std::unique_ptr<Transport>& transport) {
  DiscoverOptions options;
  options.include = core.config().rail_include;
  options.exclude = core.config().rail_exclude;
  options.ip_version = core.config().ip_version;
  options.single_node = static_cast<std::size_t>(core.config().single_node);
  Discovery found;
  std::unique_ptr<LinkWatch> links;
  if (Status status = find_rails(core, options, links, found); !status.ok()) return status;
  for (const std::string& name : found.unknown)
    notices.push_back({"no such rail", {name, core.self().node, joined(found.available, "none")}});
  for (const std::string& reason : found.left_out) core.log().line(2, "not a rail: %s", reason.c_str());
  if (found.chosen.empty())
    return {Code::no_rail, "no interface of this node can be a rail (there is: " + joined(found.available, "none") + ")"};
  TcpOptions tcp;
  tcp.ports = core.config().port_range;
  tcp.first_rail = core.rails();
  tcp.loopback = options.single_node == 0;
  tcp.rules = options;
  Status why;
  transport = make_tcp_transport(tcp, found.chosen, core.clock(), core.log(), core, core.self().id, &why, std::move(links));
  return why;
}

struct Row {
  const char* name;
  Status (*open)(Core&, Notices&, std::unique_ptr<Transport>&);
};
constexpr Row kTransports[] = {{"tcp", open_tcp}};

}  // namespace

Status open_transports(Core& core, Notices& notices) {
  Status last;
  for (const Row& row : kTransports) {
    std::unique_ptr<Transport> transport;
    const Status status = row.open(core, notices, transport);
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
