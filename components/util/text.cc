// SPDX-License-Identifier: BSD-3-Clause
#include "util/text.h"

#include <charconv>
#include <limits>

namespace nezha {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::size_t kLongestQuote = 60;  // bytes

/// How far the suffix shifts, -1 when it is none.
int shift_of(char suffix) {
  switch (suffix) {
    case 'k': case 'K': return 10;
    case 'm': case 'M': return 20;
    case 'g': case 'G': return 30;
    default: return -1;
  }
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> words_of(std::string_view list, char separator) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = list.find(separator);
    const std::string_view word = trim(list.substr(0, end));
    if (!word.empty()) words.push_back(word);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return words;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text.substr(0, kLongestQuote)) result += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kLongestQuote) result += "...";
  return result += '"';
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= ' ' && c <= '~' ? c : '?';
  }
  return result += '"';
}

std::optional<long long> parse_integer(std::string_view text) {
  long long value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<long long> parse_size(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  const int shift = shift_of(text.back());
  if (shift > 0) text.remove_suffix(1);
  const std::optional<long long> number = parse_integer(text);
  if (!number || shift < 0) return number;
  if (*number > std::numeric_limits<long long>::max() >> shift) return std::nullopt;
  return *number << shift;
}

std::string size_text(long long bytes) {
  constexpr std::string_view kSuffixes = "kmg";
  std::string suffix;
  for (std::size_t i = 0; i < kSuffixes.size() && bytes != 0 && bytes % 1024 == 0; ++i) {
    bytes /= 1024;
    suffix = kSuffixes[i];
  }
  return std::to_string(bytes) + suffix;
}

}  // namespace nezha
