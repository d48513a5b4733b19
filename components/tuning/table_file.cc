// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table_file.h"

#include <algorithm>

#include "util/json.h"

namespace nezha {
namespace {

std::uint64_t first_byte(std::size_t size_class) { return std::uint64_t{1} << size_class; }
std::uint64_t last_byte(std::size_t size_class) { return (std::uint64_t{2} << size_class) - 1; }

Json limit(int most) {
  return most == Range::kNoLimit ? Json::of(std::string(kNoLimitWord)) : Json::of(static_cast<std::uint64_t>(most));
}

void add_range(Json& object, const char* least, const char* most, const Range& range) {
  object.add(least, Json::of(static_cast<std::uint64_t>(range.least)));
  object.add(most, limit(range.most));
}

void add_way(Json& object, const Candidate& way, const RailNames& names) {
  object.add("alg", Json::of(std::string(name_of(way.algorithm))));
  if (way.one_rail) object.add("rails", Json::of(std::string(kOneRailWord)));
  if (way.rails != 0) {
    Json& rails = object.add("rails", Json::list());
    for (std::size_t rail = 0; rail < names.size(); ++rail)
      if (has(way.rails, rail)) rails.items.push_back(Json::of(names[rail]));
  }
  if (way.chunk != 0) object.add("chunk", Json::of(std::uint64_t{way.chunk}));
  if (way.carriers != 0) object.add("carriers", Json::of(std::uint64_t{way.carriers}));
}

std::uint64_t version_of(const Candidate& way) {
  if (way.carriers != 0) return kTableVersionOfCarriers;
  return way.rails != 0 ? kTableVersionOfRails : 1;
}

std::uint64_t version_of(const TableFile& file) {
  std::uint64_t version = 1;
  for (const ShapeRules& shape : file.shapes)
    for (const Rule& rule : shape.rules) {
      version = std::max(version, version_of(rule.chosen));
      for (const Measured& each : rule.measured) version = std::max(version, version_of(each.way));
    }
  return version;
}

/// Numbers the way's rails by their places in `to`, where those that are new come last. False when they are too many.
bool take_names(Candidate& way, const RailNames& from, RailNames& to) {
  for (std::size_t rail = 0; rail < from.size(); ++rail)
    if (has(way.rails, rail) && std::find(to.begin(), to.end(), from[rail]) == to.end()) to.push_back(from[rail]);
  const std::optional<RailSet> rails = to.size() > kMostRails ? std::nullopt : renumbered(way.rails, from, to);
  way.rails = rails.value_or(0);
  return rails.has_value();
}

Json written(const Rule& rule, const RailNames& names) {
  Json object = Json::object();
  object.add("msg_size_min", Json::of(first_byte(rule.first)));
  object.add("msg_size_max",
             rule.last == kSizeClasses - 1 ? Json::of(std::string(kNoLimitWord)) : Json::of(last_byte(rule.last)));
  add_way(object, rule.chosen, names);
  if (rule.calls != 0) object.add("calls", Json::of(rule.calls));
  if (!rule.measured.empty()) {
    Json& list = object.add("measured", Json::list());
    for (const Measured& measured : rule.measured) {
      Json& one = list.items.emplace_back(Json::object());
      add_way(one, measured.way, names);
      one.add("time_ns", Json::of(measured.time));
    }
  }
  if (!rule.shares.empty()) {
    Json& shares = object.add("shares", Json::object());
    for (const RailShare& share : rule.shares) shares.add(share.rail, Json::of(std::uint64_t{share.share}));
  }
  return object;
}

Json written(const ShapeRules& shape, const RailNames& names) {
  Json object = Json::object();
  add_range(object, "comm_size_min", "comm_size_max", shape.ranks);
  add_range(object, "comm_nodes_min", "comm_nodes_max", shape.nodes);
  Json& rules = object.add("rules", Json::list());
  for (const Rule& rule : shape.rules) rules.items.push_back(written(rule, names));
  return object;
}

}  // namespace

const ShapeRules* TableFile::find(const Shape& shape) const {
  const auto found =
      std::find_if(shapes.begin(), shapes.end(), [&](const ShapeRules& each) { return each.has(shape); });
  return found == shapes.end() ? nullptr : &*found;
}

bool TableFile::keep(const Shape& shape, Rule rule, const RailNames& names) {
  RailNames all = rails;
  bool room = take_names(rule.chosen, names, all);
  for (Measured& measured : rule.measured) room = take_names(measured.way, names, all) && room;
  if (!room) return false;
  rails = std::move(all);
  const Range ranks{shape.ranks, shape.ranks}, nodes{shape.nodes, shape.nodes};
  auto at = std::find_if(shapes.begin(), shapes.end(), [&](const ShapeRules& each) { return each.has(shape); });
  if (at == shapes.end() || at->ranks != ranks || at->nodes != nodes) {
    // In front of what has held for this shape so far, and with the same rules: only the first entry counts.
    std::vector<Rule> rules = at == shapes.end() ? std::vector<Rule>() : at->rules;
    at = shapes.insert(at, {ranks, nodes, std::move(rules)});
  }
  std::erase_if(at->rules, [&](const Rule& old) { return old.first == rule.first && old.last == rule.first; });
  const auto before =
      std::find_if(at->rules.begin(), at->rules.end(), [&](const Rule& old) { return old.last >= rule.first; });
  at->rules.insert(before, std::move(rule));
  return true;
}

const Rule* find_rule(const ShapeRules& rules, std::size_t size_class) {
  const auto found = std::find_if(rules.rules.begin(), rules.rules.end(), [&](const Rule& rule) {
    return rule.first <= size_class && size_class <= rule.last;
  });
  return found == rules.rules.end() ? nullptr : &*found;
}

std::string write_table(const TableFile& file) {
  Json document = Json::object();
  document.add("rule_file_version", Json::of(version_of(file)));
  document.add("module", Json::of(std::string(kTableModule)));
  document.add("nezha_version", Json::of(std::string(NEZHA_VERSION)));
  Json& shapes = document.add("collectives", Json::object()).add("allreduce", Json::list());
  for (const ShapeRules& shape : file.shapes) shapes.items.push_back(written(shape, file.rails));
  return write_json(document);
}

}  // namespace nezha
