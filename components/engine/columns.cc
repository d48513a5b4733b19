// SPDX-License-Identifier: BSD-3-Clause
#include "engine/columns.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nezha {

bool Columns::possible(const RanksByNode& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const auto& ranks) { return ranks.size() == nodes[0].size(); });
}

bool Columns::even(const std::size_t* counts, std::size_t ranks) {
  return std::all_of(counts, counts + ranks, [&](std::size_t count) { return count == counts[0]; });
}

Columns::Columns(const RanksByNode& nodes) : nodes_(nodes.size()) {
  std::vector<int> by_place;
  for (std::size_t place = 0; place < nodes[0].size(); ++place)
    for (const std::vector<int>& ranks : nodes) by_place.push_back(ranks[place]);
  ranks_ = std::make_shared<const std::vector<int>>(std::move(by_place));
}

std::size_t Columns::count(std::size_t most) const {
  std::size_t columns = std::clamp<std::size_t>(most, 1, places());
  while (places() % columns != 0) --columns;
  return columns;
}

std::size_t Columns::segment(std::size_t bytes, std::size_t element, std::size_t columns, std::size_t wanted) const {
  const std::size_t blocks = bytes / element / nodes_ / columns, piece = wanted / nodes_ / element;
  return std::clamp<std::size_t>(piece, 1, std::max<std::size_t>(blocks, 1)) * nodes_ * element;
}

void Columns::cut(std::size_t bytes, std::size_t columns, std::size_t segment) {
  block_ = bytes / ranks_->size();
  in_column_ = places() / columns;
  piece_ = segment / nodes_;
}

Places::Run Columns::at(std::size_t offset) const {
  const std::size_t column = offset / (nodes_ * blocks()), within = offset % (nodes_ * blocks());
  const std::size_t begin = within / (nodes_ * piece_) * piece_;  // of the segment's pieces
  const std::size_t piece = std::min(piece_, blocks() - begin), rest = within - nodes_ * begin;
  const std::size_t node = rest / piece, skipped = rest % piece, block = (begin + skipped) / block_;
  const std::size_t in_block = begin + skipped - block * block_;
  return {static_cast<std::size_t>(rank(node, column * in_column_ + block)) * block_ + in_block,
          std::min(piece - skipped, block_ - in_block)};
}

/// copy(begin in the vector, begin in the columns, bytes)
template <typename Copy>
void Columns::each_run(std::size_t begin, std::size_t end, const Copy& copy) const {
  for (std::size_t offset = begin; offset < end;) {
    const Run run = at(offset);
    const std::size_t size = std::min(run.size, end - offset);
    copy(run.begin, offset, size);
    offset += size;
  }
}

void Columns::arrange(const std::byte* vector, std::size_t begin, std::size_t end, std::byte* columns) const {
  each_run(begin, end, [&](std::size_t there, std::size_t here, std::size_t size) { std::memcpy(columns + here, vector + there, size); });
}

void Columns::restore(const std::byte* columns, std::size_t begin, std::size_t end, std::byte* vector) const {
  each_run(begin, end, [&](std::size_t there, std::size_t here, std::size_t size) { std::memcpy(vector + there, columns + here, size); });
}

void Columns::arrange_block(const std::byte* block, std::size_t place, std::size_t node, std::byte* columns) const {
  std::byte* const column = columns + place / in_column_ * nodes_ * blocks();
  const std::size_t own = place % in_column_ * block_;  // among the node's of the column
  for (std::size_t done = 0; done < block_;) {
    const std::size_t at = own + done, begin = at / piece_ * piece_, piece = std::min(piece_, blocks() - begin);
    const std::size_t size = std::min(begin + piece - at, block_ - done);
    std::memcpy(column + nodes_ * begin + node * piece + (at - begin), block + done, size);
    done += size;
  }
}

}  // namespace nezha
