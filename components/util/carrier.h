// SPDX-License-Identifier: BSD-3-Clause
/// A carrier: one collective on a range of a vector. It takes its input, and gives its result, by chunk, in the order
/// of the vector, so that another carrier goes on with what this one has done. Which carriers a call takes, in which
/// order, is the same on all ranks.
///
///   begin()           of the kind's own terms; the previous call is over
///   supply(up_to)     the input is ready in [begin of the range, up_to); grows, and these bytes change no more
///   poll()            goes on without blocking; true if anything moved
///   final_up_to()     the result is final in [begin of the range, here); it grows, and these bytes change no more
///   over()            the whole result is final, and nothing refers to the call's vectors
///
/// Offsets are bytes from the beginning of the vector. Errors are the kind's own: a carrier that fails is never over.
///
///   kind               what carries                                      input              result
///   OperationCarrier   an algorithm over a TeamView and its trunks       by segment         by segment
///   AggregatedCarrier  that, and aggregators for a part of each block    by chunk           by segment and chunk
///   NodeStage          the ranks of a node, over memory that they share  at once, by parts  by chunk
///
/// What goes through SHARP (SharpWay) is no carrier: its sums have an order of their own and count only when all members have
/// said that they have theirs, so nothing can be chained to it. It takes a part of the vector beside others.
#pragma once

#include <concepts>
#include <cstddef>

namespace nezha {

template <typename T>
concept Carrier = requires(T& carrier, const T& seen, std::size_t up_to) {
  carrier.supply(up_to);
  { carrier.poll() } -> std::same_as<bool>;
  { seen.final_up_to() } -> std::same_as<std::size_t>;
  { carrier.over() } -> std::same_as<bool>;
};

/// A carrier of two halves around another one. The first half's value is ready for the inner one up to reduced_up_to(),
/// in the same place; the inner one's result is supply()'d to the second half.
template <typename T>
concept OuterCarrier = Carrier<T> && requires(const T& seen) {
  { seen.reduced_up_to() } -> std::same_as<std::size_t>;
};

/// Both go on, chained by chunk. True if anything moved.
template <OuterCarrier Outer, Carrier Inner>
bool poll_chain(Outer& outer, Inner& inner) {
  const bool moved = outer.poll();
  inner.supply(outer.reduced_up_to());
  if (!inner.poll()) return moved;
  outer.supply(inner.final_up_to());
  return true;
}

}  // namespace nezha
