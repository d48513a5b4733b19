// SPDX-License-Identifier: BSD-3-Clause
#include "ask_rails.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ask_facts.h"
#include "engine/aggregation/aggregator_key.h"
#include "engine/aggregation/inquiry.h"
#include "engine/transports.h"
#include "rail/pairing.h"
#include "rail/tcp/discover.h"
#include "rail/tcp/tcp_place.h"
#include "util/params.h"

namespace nezha {
namespace {

/// What an engine says while it opens its rails, and which it has then.
struct Opened {
  std::vector<std::string> lines;
  std::string unknown;  ///< words of rail_include that nothing here answers to
  struct Rail {
    std::string name;
    nezha_rail_nic_t nic;
  };
  std::vector<Rail> rails;

  const Rail* find(std::string_view name) const {
    const auto found = std::find_if(rails.begin(), rails.end(), [&](const Rail& each) { return each.name == name; });
    return found == rails.end() ? nullptr : &*found;
  }
  /// The rest of the first line that begins so; empty: there is none.
  std::string line(const std::string& begin) const {
    for (const std::string& line : lines)
      if (line.starts_with(begin)) return line.substr(begin.size());
    return {};
  }
};

/// It leaves the job's files alone.
Opened open_engine(nezha_config_t& config) {
  Opened opened;
  for (const char* file : {"trace", "table_save"}) nezha_config_set(&config, file, "", nullptr, 0);
  nezha_config_set(&config, "verbose", "1", nullptr, 0);  // why a kind has no rails
  nezha_host_t host{};
  host.ctx = &opened;
  host.log = [](void* ctx, int, const char* line) { static_cast<Opened*>(ctx)->lines.emplace_back(line); };
  host.help = [](void* ctx, const char* topic, int count, const char* const* arguments) {
    if (topic == std::string_view("no such rail") && count > 0) static_cast<Opened*>(ctx)->unknown = arguments[0];
  };
  const nezha_self_t self{.job_rank = 0, .node_name = "this node", .local_ranks = 0, .job_ranks = 0};
  nezha_engine_t* engine = nullptr;
  nezha_engine_create(&config, &host, &self, &engine, nullptr, 0);
  for (std::size_t rail = 0; engine != nullptr && rail < nezha_engine_rails(engine); ++rail) {
    nezha_rail_stats_t stats;
    nezha_rail_nic_t nic;
    if (nezha_engine_rail_stats(engine, rail, &stats) == NEZHA_OK && nezha_engine_rail_nic(engine, rail, &nic) == NEZHA_OK)
      opened.rails.push_back({stats.name, nic});
  }
  nezha_engine_destroy(engine);
  return opened;
}

template <typename Names>
std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// "aggregator PLACE NODE RAILS LANES MICROSECONDS SERVICE UPSTREAM OVER" for one that would serve this node, lanes being those between
/// its rails and `own`, SERVICE the same for all with which it shares sums, OVER the rails of `own` that have lanes to it; "silent
/// PLACE REASON" for another.
void aggregators(const Config& config, const std::vector<RailAddress>& own) {
  if (config.aggregators.empty()) return;
  char node[256] = "";
  gethostname(node, sizeof node - 1);
  Secret key{};
  const Status keyed = read_aggregator_key(config.aggregator_key, key);
  for (const AggregatorList::Entry& entry : config.aggregators.entries) {
    const AggregatorAnswer answer =
        keyed.ok() ? ask_aggregator(entry, key, node) : AggregatorAnswer{keyed, {}, 0};
    if (!answer.status.ok()) {
      fact({"silent", entry.text(), answer.status.text()});
      continue;
    }
    const std::vector<RailPair> lanes = pair_rails(own, answer.address.rails);
    std::set<std::string> over;
    for (const RailPair& lane : lanes) over.insert(own[lane.local].label());
    std::vector<std::string> rails;
    for (const RailAddress& rail : answer.address.rails) rails.push_back(rail.label());
    fact({"aggregator", entry.text(), answer.address.node, listed(rails), std::to_string(lanes.size()),
          std::to_string(answer.took / kMicrosecond), std::to_string(answer.address.service()), answer.address.upstream,
          listed(over)});
  }
}

/// Those that the rules choose, unless the user names only rails of other kinds. Whether each can really be opened (a port of the
/// range, for one) only the engine knows.
std::vector<RailAddress> tcp_rails(const Config& config, const Discovery& found, const Opened& opened) {
  const bool none_named = tcp_rules(config).include.empty() && !config.rail_include.empty();
  std::vector<RailAddress> own;
  for (const Interface& rail : found.chosen) {
    const std::string name = std::string(kTcp) + "/" + rail.name;
    const Opened::Rail* const open = opened.find(name);
    if (open == nullptr) {
      const std::string why = opened.line("rail " + name + " is left out: ");
      const char* else_why = none_named ? "coll_nezha_rail_include does not name it" : "it could not be opened";
      fact({"left_out", rail.name, why.empty() ? else_why : why});
      continue;
    }
    own.push_back(tcp_address(rail, 0));
    fact({"rail", name, rail.device, address_text(rail.family, rail.address), std::to_string(rail.prefix),
          std::to_string(rail.speed_mbps), open->nic.pci_device});
  }
  for (const std::string& text : found.left_out) {
    const std::size_t colon = text.find(": ");
    fact({"left_out", text.substr(0, colon), text.substr(colon + 2)});
  }
  return own;
}

bool is_of(const std::string& name, const std::string& kind) { return name.starts_with(kind + "/"); }

/// Why a word that is for one kind of rails alone has none, where the engine says it.
void missing_rail(const InterfaceList::Pattern& word, const Opened& opened) {
  const std::string none = opened.line("no " + word.kind + " rails: "), text = word.written(), unknown = ", " + opened.unknown + ",";
  const bool any = std::any_of(opened.rails.begin(), opened.rails.end(), [&](const Opened::Rail& rail) { return is_of(rail.name, word.kind); });
  if (!none.empty())
    fact({"left_out", text, none});
  else if (!any || unknown.find(", " + text + ",") != std::string::npos || unknown.find(", " + text + " (") != std::string::npos)
    fact({"unknown", text});
}

/// The rails of other kinds than TCP, and words that name such in vain.
void other_rails(const Config& config, const Opened& opened) {
  for (const Opened::Rail& rail : opened.rails)
    if (!is_of(rail.name, kTcp)) fact({"rail", rail.name, "", "", "0", std::to_string(rail.nic.speed_mbps), rail.nic.pci_device});
  for (const std::string& line : opened.lines) {
    const std::size_t end = line.find(" is left out: ");
    if (line.starts_with("rail ") && end != std::string::npos && !is_of(line.substr(5), kTcp))
      fact({"left_out", line.substr(5, end - 5), line.substr(end + std::string_view(" is left out: ").size())});
  }
  for (const InterfaceList::Pattern& word : config.rail_include.patterns())
    if (!word.kind.empty() && word.kind != kTcp) missing_rail(word, opened);
}

}  // namespace

int ask_rails(nezha_config_t& handle) {
  const Config& config = config_of(handle);
  Discovery found;
  if (const Status status = discover(tcp_rules(config), found); !status.ok()) {
    std::fprintf(stderr, "nezha_ask: %s\n", status.text().c_str());
    return 1;
  }
  const Opened opened = open_engine(handle);
  const std::vector<RailAddress> own = tcp_rails(config, found, opened);
  other_rails(config, opened);
  for (const std::string& word : found.unknown) fact({"unknown", word});
  for (const std::string& text : found.available) fact({"available", text});
  aggregators(config, own);
  return 0;
}

}  // namespace nezha
