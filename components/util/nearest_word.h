// SPDX-License-Identifier: BSD-3-Clause
/// What somebody may have meant who wrote a word that does not exist. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace nezha {

/// How many letters have to be added, left out or replaced to make `b` of `a`.
std::size_t edits_between(std::string_view a, std::string_view b);

/// The index of the word of `words` that is nearest to `word`, the first of several; words.size() when none is near, which is
/// at most 2 edits or a third of the word's letters away.
std::size_t nearest_word(std::string_view word, std::span<const std::string_view> words);

}  // namespace nezha
