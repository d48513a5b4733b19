// SPDX-License-Identifier: BSD-3-Clause
#include "setting.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <variant>

namespace nezha_simulate {
namespace {

using Field = std::variant<int Setting::*, double Setting::*, std::int64_t Setting::*, std::uint64_t Setting::*>;

struct Row {
  const char* name;
  Field field;
  double least, most;
  double unit = 1;  ///< the field's value of 1
};

// 64 ports a switch are the most that a mask of inputs has room for.
constexpr Row kRows[] = {
    {"nodes", &Setting::nodes, 1, 2048},
    {"accelerators", &Setting::accelerators, 1, 63},
    {"accelerator_gbps", &Setting::accelerator_gbps, 1, 1e5},
    {"node_gbps", &Setting::node_gbps, 1, 1e5},
    {"intra_payload", &Setting::intra_payload, 16, 65536},
    {"intra_header", &Setting::intra_header, 0, 4096},
    {"inter_payload", &Setting::inter_payload, 16, 65536},
    {"inter_header", &Setting::inter_header, 0, 4096},
    {"buffer", &Setting::buffer, 1024, 1 << 30},
    {"conversion_ns", &Setting::conversion_ns, 0, 1e6},
    {"meters", &Setting::meters, 0, 1e5},
    {"ns_per_meter", &Setting::ns_per_meter, 0, 1e3},
    {"inter_percent", &Setting::inter_percent, 0, 100},
    {"load_percent", &Setting::load_percent, 0.01, 100},
    {"source_queue", &Setting::source_queue, 0, 1 << 30},
    {"seed", &Setting::seed, 0, 9e15},
    {"warm_up_us", &Setting::warm_up, 0, 1e6, kMicrosecond},
    {"measured_us", &Setting::measured, 0.001, 1e6, kMicrosecond},
    {"train", &Setting::train, 1, 4096},
};

/// False for what is no number.
bool number_of(const std::string& text, double& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, trouble] = std::from_chars(text.data(), end, number);
  return trouble == std::errc() && stopped == end && std::isfinite(number);
}

std::string allowed(const std::string& name, const std::string& value, const std::string& what) {
  return name + " '" + value + "': " + what + " is allowed";
}

std::string range(const Row& row) {
  char text[80];
  std::snprintf(text, sizeof text, "%s from %g to %.16g",
                row.field.index() == 1 || row.unit != 1 ? "a number" : "a whole number", row.least, row.most);
  return text;
}

}  // namespace

std::string set(Setting& setting, std::string_view name, const std::string& value) {
  if (name == "arbiter") {
    if (value != "round-robin" && value != "age") return allowed("arbiter", value, "round-robin or age");
    setting.arbiter = value == "age" ? Arbiter::age : Arbiter::round_robin;
    return {};
  }
  if (name == "outputs") {
    if (value != "independent" && value != "matched") return allowed("outputs", value, "independent or matched");
    setting.matched = value == "matched";
    return {};
  }
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [name](const Row& one) { return name == one.name; });
  if (row == std::end(kRows)) return "there is no setting '" + std::string(name) + "'";
  double number = 0;
  const bool whole = row->field.index() != 1 && row->unit == 1;
  if (!number_of(value, number) || number < row->least || number > row->most || (whole && number != std::floor(number)))
    return allowed(row->name, value, range(*row));
  std::visit(
      [&](auto field) { setting.*field = static_cast<std::decay_t<decltype(setting.*field)>>(number * row->unit); },
      row->field);
  return {};
}

std::string complaint(const Setting& setting) {
  if (setting.intra_payload > setting.inter_payload)
    return allowed("intra_payload", std::to_string(setting.intra_payload),
                   "at most inter_payload, " + std::to_string(setting.inter_payload) + ",");
  if (setting.nodes == 1 && setting.accelerators == 1)
    return "nodes and accelerators are both 1: there is nobody to send to";
  // A NIC gathers a message from every accelerator at a time, and a leaf's input holds a whole packet.
  const std::int64_t least =
      std::max(setting.accelerators * setting.wire_bytes(), setting.inter_payload + setting.inter_header);
  if (setting.buffer < least)
    return allowed(
        "buffer", std::to_string(setting.buffer),
        "with " + std::to_string(setting.accelerators) + " accelerators " + std::to_string(least) + " or more");
  return {};
}

}  // namespace nezha_simulate
