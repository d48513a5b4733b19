// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/flow.h"

#include <algorithm>

namespace nezha {
namespace {

/// std heaps keep the largest in front: "a is less urgent than b".
bool less_urgent(const ReadyChunk& a, const ReadyChunk& b) {
  return a.hops != b.hops ? a.hops < b.hops : a.offset > b.offset;
}

}  // namespace

void Flow::open(TeamId team, OpNumber op, std::size_t element, bool one_rail, RailSet rails,
                std::uint32_t whole) {
  team_ = team;
  op_ = op;
  element_ = element;
  one_rail_ = one_rail;
  rails_ = rails;
  whole_ = whole;
  clear();
  begun = asked = false;
  charged = unacked = 0;
}

void Flow::push(const ReadyChunk& chunk) {
  queued_ += chunk.size;
  heap_.push_back(chunk);
  std::push_heap(heap_.begin(), heap_.end(), less_urgent);
}

void Flow::advance(std::uint32_t bytes) {
  queued_ -= bytes;
  ReadyChunk& chunk = heap_.front();
  chunk.data += bytes;
  chunk.offset += bytes;
  chunk.size -= bytes;
  if (chunk.size != 0) return;  // a larger offset within one chunk keeps its place: chunks do not overlap
  std::pop_heap(heap_.begin(), heap_.end(), less_urgent);
  heap_.pop_back();
}

}  // namespace nezha
