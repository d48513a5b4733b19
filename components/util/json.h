// SPDX-License-Identifier: BSD-3-Clause
/// JSON texts from outside (RFC 8259) as a tree that knows where each value stands in its text, and back. Any bytes are
/// accepted as input. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/status.h"

namespace nezha {

/// Both count from 1; a column is a byte.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// "line 3, column 7".
std::string text_of(const Place& place);

struct Json {
  enum class Kind : std::uint8_t {
    number,  ///< whole and not negative
    text,
    list,
    object,
    other  ///< null, true, false, any other number
  };
  struct Member;

  Kind kind = Kind::other;
  Place place;
  std::uint64_t number = 0;
  std::string text;
  std::vector<Json> items;      ///< of a list
  std::vector<Member> members;  ///< of an object, in the order of the text

  static Json of(std::uint64_t number);
  static Json of(std::string text);
  static Json list();
  static Json object();
  Json& add(std::string key, Json value);
};

struct Json::Member {
  std::string key;
  Place place;  ///< of the key
  Json value;
};

/// What a text may not exceed; it is refused before memory or time is spent on more.
struct JsonLimits {
  std::size_t bytes = 1024 * 1024;
  std::size_t depth = 16;
  std::size_t members = 64;  ///< of an object
  std::size_t text = 256;    ///< bytes of a text or key
  std::size_t values = 128 * 1024;  ///< in all; a list may have them all, at two bytes of text and a hundred of memory each
};

/// On an error `document` is unchanged, and the status says where and what. A key given twice is an error.
Status parse_json(std::string_view text, const JsonLimits& limits, Json& document);

/// Over several lines, each level indented by two, a newline at the end. Bytes that are no UTF-8 are replaced.
std::string write_json(const Json& document);

}  // namespace nezha
