// SPDX-License-Identifier: BSD-3-Clause
/// Reading of a table from outside. The first thing that is wrong is told and nothing of the file is used.
#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

#include "tuning/table_file.h"
#include "util/json.h"
#include "util/text.h"

namespace nezha {
namespace {

constexpr std::size_t kMostShapes = 256;
constexpr std::size_t kMostRules = 256;
constexpr std::size_t kMostRailName = 47;
constexpr std::size_t kMostVersion = 64;
constexpr std::uint64_t kWholeShare = 65536;
constexpr std::uint64_t kAny = ~std::uint64_t{0};

/// Every way but automatic, which is none.
constexpr auto kWays = [] {
  std::array<AlgorithmChoice, static_cast<std::size_t>(AlgorithmChoice::memory)> ways{};
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i] = static_cast<AlgorithmChoice>(i + 1);
  return ways;
}();

class Reader {
 public:
  const Status& error() const { return error_; }

  TableFile file(const Json& json) {
    TableFile file;
    if (!object(json, "a table")) return file;
    // A file for something else is known by these two, whatever else it has.
    if (const Json* module = need(json, "module"); module != nullptr && text(*module, 256) != kTableModule)
      refuse(*module, "this is a file for " + in_quotes(module->text) + ", not for \"nezha\"");
    if (const Json* version = need(json, "rule_file_version"); version != nullptr)
      if (version_ = whole(*version, 0, kAny); version_ == 0 || version_ > kTableVersion)
        refuse(*version, "this is version " + std::to_string(version_) + " of the format, known are 1 to " +
                             std::to_string(kTableVersion));
    keys(json, "a table", {"rule_file_version", "module", "nezha_version", "collectives"});
    if (const Json* version = json_of(json, "nezha_version")) text(*version, kMostVersion);
    if (const Json* collectives = need(json, "collectives")) {
      keys(*collectives, "collectives", {"allreduce"});
      if (const Json* shapes = need(*collectives, "allreduce"))
        each(*shapes, kMostShapes, [&](const Json& shape) { file.shapes.push_back(shape_rules(shape)); });
    }
    file.rails = std::move(rails_);
    return file;
  }

 private:
  ShapeRules shape_rules(const Json& json) {
    ShapeRules shape;
    keys(json, "a communicator", {"comm_size_min", "comm_size_max", "comm_nodes_min", "comm_nodes_max", "rules"});
    shape.ranks = range(json, "comm_size_min", "comm_size_max");
    shape.nodes = range(json, "comm_nodes_min", "comm_nodes_max");
    if (const Json* rules = need(json, "rules"))
      each(*rules, kMostRules, [&](const Json& one) { shape.rules.push_back(rule(one)); });
    return shape;
  }

  Rule rule(const Json& json) {
    Rule rule;
    keys(json, "a rule", {"msg_size_min", "msg_size_max", "alg", "rails", "chunk", "carriers", "calls", "measured", "shares"});
    sizes(json, rule);
    rule.chosen = way(json);
    if (const Json* calls = json_of(json, "calls")) rule.calls = whole(*calls, 0, kAny);
    if (const Json* measured = json_of(json, "measured")) {
      if (rule.first != rule.last) refuse(*measured, "what was measured belongs to a single size class");
      each(*measured, kMostCandidates, [&](const Json& one) { rule.measured.push_back(this->measured(one, rule)); });
    }
    if (const Json* shares = json_of(json, "shares")) {
      if (object(*shares, "shares") && shares->members.size() > kMostRails)
        refuse(*shares, "there are " + std::to_string(kMostRails) + " rails at most");
      for (const Json::Member& member : shares->members) rule.shares.push_back(share(member));
    }
    return rule;
  }

  Measured measured(const Json& json, const Rule& rule) {
    keys(json, "a way that was measured", {"alg", "rails", "chunk", "carriers", "time_ns"});
    const Candidate way = this->way(json);
    if (std::any_of(rule.measured.begin(), rule.measured.end(),
                    [&](const Measured& other) { return other.way == way; }))
      refuse(json, "this way is there twice");
    const Json* time = need(json, "time_ns");
    return {way, time == nullptr ? 0 : whole(*time, 0, kMostTime)};
  }

  static bool is_blank_or_control(unsigned char letter) { return letter <= ' ' || letter == 0x7f; }

  void rail_name(const std::string& name, const Place& place) {
    if (name.empty() || name.size() > kMostRailName)
      refuse(place, "a rail's name has 1 to " + std::to_string(kMostRailName) + " bytes");
    else if (std::any_of(name.begin(), name.end(), is_blank_or_control))
      refuse(place, "a rail's name has no blanks and no control characters");
  }

  RailShare share(const Json::Member& member) {
    rail_name(member.key, member.place);
    return {member.key, static_cast<std::uint32_t>(whole(member.value, 0, kWholeShare))};
  }

  Candidate way(const Json& json) {
    Candidate way;
    if (const Json* alg = need(json, "alg")) {
      const std::string& word = text(*alg, 256);
      const auto found =
          std::find_if(kWays.begin(), kWays.end(), [&](AlgorithmChoice each) { return word == name_of(each); });
      if (found == kWays.end())
        refuse(*alg, "alg takes one of " + words() + ", not " + in_quotes(word));
      else
        way.algorithm = *found;
    }
    if (const Json* rails = json_of(json, "rails")) {
      if (rails->kind == Json::Kind::list) {
        way.rails = named(*rails);
      } else {
        const std::string& word = text(*rails, 256);
        if (word != kOneRailWord && word != kAllRailsWord)
          refuse(*rails, "rails takes one of one, all, or a list of names, not " + in_quotes(word));
        way.one_rail = word == kOneRailWord;
      }
    }
    if (const Json* chunk = json_of(json, "chunk")) {
      way.chunk = static_cast<std::uint32_t>(whole(*chunk, 0, kMostChunk));
      if (way.chunk != 0 && way.chunk < kLeastChunk)
        refuse(*chunk, "a chunk has " + std::to_string(kLeastChunk) + " bytes at least, or 0");
    }
    if (const Json* carriers = json_of(json, "carriers")) {
      if (version_ < kTableVersionOfCarriers)
        refuse(*carriers, "carriers are counted from version " + std::to_string(kTableVersionOfCarriers) + " of the format on");
      way.carriers = static_cast<std::uint8_t>(whole(*carriers, 0, kMostCarriers));
    }
    return way;
  }

  RailSet named(const Json& list) {
    if (version_ < kTableVersionOfRails)
      refuse(list, "rails are named from version " + std::to_string(kTableVersionOfRails) + " of the format on");
    if (list.items.empty()) refuse(list, "rails names none");
    RailSet rails = 0;
    each(list, kMostRails, [&](const Json& name) {
      const RailSet rail = rail_of(name);
      if ((rails & rail) != 0) refuse(name, "the rail " + in_quotes(name.text) + " is there twice");
      rails |= rail;
    });
    return rails;
  }

  /// A rail that is new gets the next number.
  RailSet rail_of(const Json& json) {
    const std::string& name = text(json, 256);
    rail_name(name, json.place);
    const auto known = static_cast<std::size_t>(std::find(rails_.begin(), rails_.end(), name) - rails_.begin());
    if (known == kMostRails) refuse(json, "a table names " + std::to_string(kMostRails) + " rails at most");
    if (!error_.ok()) return 0;
    if (known == rails_.size()) rails_.push_back(name);
    return only(known);
  }

  static std::string words() {
    std::string list;
    for (const AlgorithmChoice way : kWays) list += (list.empty() ? "" : ", ") + std::string(name_of(way));
    return list;
  }

  Range range(const Json& json, const char* least, const char* most) {
    Range range;
    if (const Json* from = json_of(json, least)) range.least = static_cast<int>(whole(*from, 0, Range::kNoLimit));
    const Json* to = json_of(json, most);
    if (to == nullptr || is_no_limit(*to)) return range;
    range.most = static_cast<int>(whole(*to, 0, Range::kNoLimit));
    if (range.most < range.least) refuse(*to, std::string(most) + " is less than " + least);
    return range;
  }

  /// Ranges of bytes that are whole size classes.
  void sizes(const Json& json, Rule& rule) {
    if (const Json* from = json_of(json, "msg_size_min")) {
      const std::uint64_t bytes = whole(*from, 0, std::uint64_t{1} << (kSizeClasses - 1));
      if (bytes != 0 && !std::has_single_bit(bytes))
        refuse(*from, "msg_size_min is 0 or a power of two, not " + std::to_string(bytes));
      else
        rule.first = size_class_of(std::max<std::uint64_t>(bytes, 1));
    }
    const Json* to = json_of(json, "msg_size_max");
    if (to == nullptr || is_no_limit(*to)) return;
    const std::uint64_t bytes = whole(*to, 1, kAny);
    if ((bytes & (bytes + 1)) != 0)
      return refuse(*to, "msg_size_max is one less than a power of two, not " + std::to_string(bytes));
    rule.last = size_class_of(bytes);
    if (rule.last < rule.first) refuse(*to, "msg_size_max is less than msg_size_min");
  }

  // ---- values

  static bool is_no_limit(const Json& json) { return json.kind == Json::Kind::text && json.text == kNoLimitWord; }

  std::uint64_t whole(const Json& json, std::uint64_t least, std::uint64_t most) {
    if (json.kind == Json::Kind::number && least <= json.number && json.number <= most) return json.number;
    refuse(json, "a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " is needed");
    return least;
  }

  const std::string& text(const Json& json, std::size_t most) {
    if (json.kind != Json::Kind::text || json.text.size() > most)
      refuse(json, "a text of at most " + std::to_string(most) + " bytes is needed");
    return json.text;
  }

  template <typename Body>
  void each(const Json& json, std::size_t most, Body body) {
    if (json.kind != Json::Kind::list) return refuse(json, "a list is needed");
    if (json.items.size() > most) return refuse(json, "the list has more than " + std::to_string(most) + " entries");
    for (const Json& item : json.items)
      if (error_.ok()) body(item);
  }

  // ---- keys

  bool object(const Json& json, const char* what) {
    if (json.kind != Json::Kind::object) refuse(json, std::string(what) + " is an object");
    return json.kind == Json::Kind::object;
  }

  void keys(const Json& json, const char* what, std::initializer_list<std::string_view> known) {
    if (!object(json, what)) return;
    for (const Json::Member& member : json.members)
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        refuse(member.place, std::string(what) + " has no key " + in_quotes(member.key));
  }

  static const Json* json_of(const Json& json, std::string_view key) {
    for (const Json::Member& member : json.members)
      if (member.key == key) return &member.value;
    return nullptr;
  }

  const Json* need(const Json& json, std::string_view key) {
    const Json* found = json_of(json, key);
    if (found == nullptr) refuse(json, "the key " + in_quotes(key) + " is missing");
    return found;
  }

  // ---- errors: the first counts

  void refuse(const Json& json, const std::string& why) { refuse(json.place, why); }
  void refuse(const Place& place, const std::string& why) {
    if (error_.ok()) error_ = {Code::bad_parameter, text_of(place) + ": " + why};
  }

  Status error_;
  std::uint64_t version_ = 0;
  RailNames rails_;  ///< so far
};

}  // namespace

Status parse_table(std::string_view text, TableFile& file) {
  Json document;
  if (const Status status = parse_json(text, {}, document); !status.ok()) return status;
  Reader reader;
  TableFile found = reader.file(document);
  if (reader.error().ok()) file = std::move(found);
  return reader.error();
}

}  // namespace nezha
