// SPDX-License-Identifier: BSD-3-Clause
#include "util/interface_list.h"

#include <arpa/inet.h>

#include <algorithm>
#include <iterator>

#include "util/text.h"

namespace nezha {
namespace {

using Address = std::array<std::uint8_t, 16>;
using Pattern = InterfaceList::Pattern;

Status bad_word(std::string_view word, const char* reason) {
  return {Code::bad_parameter,
          in_quotes(word) + " " + reason +
              "; allowed are names of interfaces (eth0), blocks of addresses (10.1.0.0/16, fd00::/64) and addresses, "
              "and a kind of rail in front of one (tcp/eth0)"};
}

std::uint8_t address_bits(std::uint8_t family) { return family == 4 ? 32 : 128; }

/// 4, 6, or 0 when `text` is no address.
std::uint8_t parse_address(const std::string& text, Address& address) {
  if (text.find('\0') != std::string::npos) return 0;
  if (inet_pton(AF_INET, text.c_str(), address.data()) == 1) return 4;
  if (inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return 6;
  return 0;
}

void clear_beyond(Address& address, std::size_t prefix) {
  for (std::size_t bit = prefix; bit < 8 * address.size(); ++bit) {
    address[bit / 8] = static_cast<std::uint8_t>(address[bit / 8] & ~(0x80u >> (bit % 8)));
  }
}

bool holds(const Pattern& pattern, Address address) {
  clear_beyond(address, pattern.prefix);
  return address == pattern.block;
}

bool plausible_name(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

/// Takes "tcp/" off the front.
std::string take_kind(std::string_view& word) {
  const std::size_t size = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (size == 0 || size >= word.size() - 1 || word[size] != '/') return {};
  const std::string kind(word.substr(0, size));
  word.remove_prefix(size + 1);
  return kind;
}

Status parse_word(std::string_view whole, Pattern& pattern) {
  std::string_view word = whole;
  pattern.kind = take_kind(word);
  const std::size_t slash = word.find('/');
  pattern.text = word;
  pattern.family = parse_address(std::string(word.substr(0, slash)), pattern.block);
  if (slash == std::string_view::npos) {
    if (pattern.family == 0 && !plausible_name(word)) return bad_word(whole, "cannot be the name of an interface");
    pattern.prefix = pattern.family == 0 ? 0 : address_bits(pattern.family);
    return {};
  }
  if (pattern.family == 0) return bad_word(whole, "has no IPv4 or IPv6 address in front of the '/'");
  const std::optional<long long> prefix = parse_integer(word.substr(slash + 1));
  if (!prefix || *prefix < 0 || *prefix > address_bits(pattern.family)) {
    return bad_word(whole, pattern.family == 4 ? "has no number from 0 to 32 behind the '/'"
                                              : "has no number from 0 to 128 behind the '/'");
  }
  pattern.prefix = static_cast<std::uint8_t>(*prefix);
  clear_beyond(pattern.block, pattern.prefix);
  return {};
}

}  // namespace

std::optional<std::size_t> InterfaceList::match(std::string_view name, std::uint8_t family,
                                                const Address& address) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    const bool hit = pattern.family == 0 ? pattern.text == name : pattern.family == family && holds(pattern, address);
    if (hit) return i;
  }
  return std::nullopt;
}

InterfaceList InterfaceList::of_kind(std::string_view kind) const {
  InterfaceList found;
  std::copy_if(patterns_.begin(), patterns_.end(), std::back_inserter(found.patterns_),
               [&](const Pattern& pattern) { return pattern.kind.empty() || pattern.kind == kind; });
  return found;
}

InterfaceList InterfaceList::of_kind_alone(std::string_view kind) const {
  InterfaceList found;
  std::copy_if(patterns_.begin(), patterns_.end(), std::back_inserter(found.patterns_),
               [&](const Pattern& pattern) { return pattern.kind == kind; });
  return found;
}

bool InterfaceList::names_kind(std::string_view kind) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) { return pattern.kind == kind; });
}

Status parse(std::string_view text, InterfaceList& list) {
  InterfaceList parsed;
  for (const std::string_view word : words_of(text)) {
    Pattern pattern;
    Status status = parse_word(word, pattern);
    if (!status.ok()) return status;
    const auto same = [&](const Pattern& other) { return other.kind == pattern.kind && other.text == pattern.text; };
    if (std::none_of(parsed.patterns_.begin(), parsed.patterns_.end(), same)) {
      parsed.patterns_.push_back(std::move(pattern));
    }
  }
  list = std::move(parsed);
  return {};
}

}  // namespace nezha
