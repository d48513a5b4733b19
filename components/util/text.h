// SPDX-License-Identifier: BSD-3-Clause
/// Small parts of the parsers of parameters: words of a list, numbers, sizes. No locale; any bytes are accepted as
/// input. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nezha {

/// Without blanks (space, tab, line ends) on both sides.
std::string_view trim(std::string_view text);

/// The words between commas (or other separators), trimmed. Empty words are left out, as Open MPI does with its lists.
std::vector<std::string_view> words_of(std::string_view list, char separator = ',');

/// In double quotes, fit for a message: shortened, and unprintable or non-ASCII bytes replaced by '?'.
std::string in_quotes(std::string_view text);

/// As a JSON text, in its quotes; non-ASCII bytes are replaced by '?'.
std::string json_text(std::string_view text);

/// A decimal whole number with an optional minus sign, alone in `text`. None when it is anything else or too large.
std::optional<long long> parse_integer(std::string_view text);

/// Bytes: a decimal whole number and an optional k, m or g of either case (powers of 1024). Never negative.
std::optional<long long> parse_size(std::string_view text);

/// `bytes` as parse_size takes it, with the largest suffix that loses nothing: "64k", "1000".
std::string size_text(long long bytes);

}  // namespace nezha
