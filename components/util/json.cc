// SPDX-License-Identifier: BSD-3-Clause
#include "util/json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "util/text.h"

namespace nezha {
namespace {

/// Reads a text for the library and tells everybody who has a copy how far it has been read.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Reading(const char** at) : at_(at) {}
  const char& operator*() const { return **at_; }
  Reading& operator++() {
    ++*at_;
    return *this;
  }
  Reading operator++(int) {
    ++*at_;
    return *this;
  }
  bool operator==(const Reading& other) const { return *at_ == *other.at_; }

 private:
  const char** at_;
};

/// Without the library's name for the error and its own count of the place, fit for a message.
std::string sentence(std::string_view what) {
  constexpr std::size_t kLongest = 160;
  for (const std::string_view before : {"] ", "parse error", ": "})
    if (const std::size_t at = what.find(before);
        at != std::string_view::npos && (before != "] " || what.front() == '['))
      what.remove_prefix(before == "parse error" ? at : at + before.size());
  std::string result;
  for (const char c : what.substr(0, kLongest)) result += c >= ' ' && c <= '~' ? c : '?';
  return result;
}

/// Grows the tree by the library's events. An event comes when its token has been read and nothing beyond it but one
/// character after a number; so a token begins at the first character after the token before it that is no separator.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits), at_(text.data()) {}

  const char** at() { return &at_; }
  const Status& error() const { return error_; }
  Json& document() { return document_; }

  bool null() override { return put({}); }
  bool boolean(bool) override { return put({}); }
  bool number_integer(number_integer_t) override { return put({}); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json::of(std::uint64_t{value})); }
  bool number_float(number_float_t, const string_t&) override { return put({}); }
  bool string(string_t& value) override {
    if (value.size() > limits_.text) return refuse(next_place(), too_long());
    return put(Json::of(std::move(value)));
  }
  bool binary(binary_t&) override { return put({}); }  // JSON has none

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    const Place place = next_place();
    if (name.size() > limits_.text) return refuse(place, too_long());
    std::vector<Json::Member>& members = open_.back()->members;
    if (std::any_of(members.begin(), members.end(), [&](const Json::Member& other) { return other.key == name; }))
      return refuse(place, "the key " + in_quotes(name) + " is there twice");
    if (members.size() == limits_.members)
      return refuse(place, "an object may have " + std::to_string(limits_.members) + " keys at most");
    members.push_back({std::move(name), place, {}});
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::list()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& what) override {
    const std::size_t skip = unplaced().find_first_not_of(" \t\r\n,:");
    if (skip < unplaced().size())
      advance(counted_ + skip);
    else if (!unplaced().empty())
      advance(at_ - 1);  // one of these is the trouble
    return refuse(place_, sentence(what.what()));
  }

 private:
  std::string too_long() const { return "a text may have " + std::to_string(limits_.text) + " bytes at most"; }

  bool refuse(const Place& place, const std::string& why) {
    error_ = {Code::bad_parameter, text_of(place) + ": " + why};
    return false;
  }

  /// Counts lines and columns up to `to`.
  void advance(const char* to) {
    for (; counted_ < to; ++counted_) {
      if (*counted_ == '\n') {
        ++place_.line;
        place_.column = 1;
      } else {
        ++place_.column;
      }
    }
  }

  /// What was read since the latest token that has a place.
  std::string_view unplaced() const { return {counted_, static_cast<std::size_t>(at_ - counted_)}; }

  /// Where the token begins that was read last.
  Place next_place() {
    advance(counted_ + std::min(unplaced().find_first_not_of(" \t\r\n,:]}"), unplaced().size()));
    const Place place = place_;
    advance(at_);
    return place;
  }

  /// The place of the next value: the document, the value of the latest key, or one more in the list.
  Json& slot() {
    if (open_.empty()) return document_;
    Json& parent = *open_.back();
    return parent.kind == Json::Kind::object ? parent.members.back().value : parent.items.emplace_back();
  }

  /// Null: it is one too many.
  Json* add(Json value) {
    if (values_ == limits_.values) {
      refuse(value.place, "there may be " + std::to_string(limits_.values) + " values at most");
      return nullptr;
    }
    ++values_;
    return &(slot() = std::move(value));
  }

  bool put(Json value) {
    value.place = next_place();
    return add(std::move(value)) != nullptr;
  }

  bool open(Json value) {
    value.place = next_place();
    if (open_.size() == limits_.depth)
      return refuse(value.place, "values may lie " + std::to_string(limits_.depth) + " deep at most");
    Json* added = add(std::move(value));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string_view text_;
  const JsonLimits& limits_;
  const char* at_;  ///< read up to here
  const char* counted_ = text_.data();
  Place place_;  ///< of counted_
  Json document_;
  std::size_t values_ = 0;  ///< in document_
  std::vector<Json*> open_;  ///< only the last one's children move, and they are closed
  Status error_;
};

Json empty(Json::Kind kind) {
  Json json;
  json.kind = kind;
  return json;
}

nlohmann::ordered_json translated(const Json& from) {
  switch (from.kind) {
    case Json::Kind::number:
      return from.number;
    case Json::Kind::text:
      return from.text;
    case Json::Kind::list: {
      auto list = nlohmann::ordered_json::array();
      for (const Json& item : from.items) list.push_back(translated(item));
      return list;
    }
    case Json::Kind::object: {
      auto object = nlohmann::ordered_json::object();
      for (const Json::Member& member : from.members) object[member.key] = translated(member.value);
      return object;
    }
    default:
      return nullptr;
  }
}

}  // namespace

std::string text_of(const Place& place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

Json Json::of(std::uint64_t number) {
  Json json = empty(Kind::number);
  json.number = number;
  return json;
}

Json Json::of(std::string text) {
  Json json = empty(Kind::text);
  json.text = std::move(text);
  return json;
}

Json Json::list() { return empty(Kind::list); }
Json Json::object() { return empty(Kind::object); }

Json& Json::add(std::string key, Json value) {
  members.push_back({std::move(key), {}, std::move(value)});
  return members.back().value;
}

Status parse_json(std::string_view text, const JsonLimits& limits, Json& document) {
  if (text.size() > limits.bytes)
    return {Code::bad_parameter,
            std::to_string(text.size()) + " bytes, " + std::to_string(limits.bytes) + " are allowed"};
  Builder builder(text, limits);
  const char* end = text.data() + text.size();
  if (!nlohmann::json::sax_parse(Reading(builder.at()), Reading(&end), &builder)) return builder.error();
  document = std::move(builder.document());
  return {};
}

std::string write_json(const Json& document) {
  return translated(document).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace nezha
