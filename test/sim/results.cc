// SPDX-License-Identifier: BSD-3-Clause
#include "results.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>

namespace nezha::test {
namespace {

/// inout[i] = in[i] op inout[i] over bytes: wraps, is associative and commutative, depends on the place in the vector,
/// and cannot be mistaken for another.
void host_reduce(void*, void* call_ctx, const void* in, void* inout, std::size_t first, std::size_t count) {
  const std::size_t element = *static_cast<const std::size_t*>(call_ctx);
  const std::size_t bytes = count * element, begin = first * element;
  const auto* from = static_cast<const std::uint8_t*>(in);
  auto* to = static_cast<std::uint8_t*>(inout);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(from[i] + to[i] + 7 * (begin + i));
}

/// Bytes after which a vector repeats itself, since to draw all of them takes longer than to add them up: eight times a
/// prime number, so that no chunk or block looks like its neighbour.
constexpr std::size_t kDrawn = 8 * 1021;

/// Fills what follows the first `drawn` bytes by repeating them.
void repeat(Bytes& bytes, std::size_t drawn) {
  for (std::size_t at = drawn; at < bytes.size(); at *= 2)
    std::memcpy(bytes.data() + at, bytes.data(), std::min(at, bytes.size() - at));
}

template <typename T>
void fill_floats(std::span<std::byte> bytes, bool hostile, SimRandom& random) {
  constexpr std::array<double, 10> kHostile{1e30, -1e30, 1e-42, -1e-42, 1.0, -0.0, 3e38, 1e-30, 16777217.0, 0.1};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const std::uint64_t draw = random.next();
    T value = static_cast<T>(static_cast<std::int64_t>(draw % 17) - 8);
    if (hostile)
      value = static_cast<T>(kHostile[draw % kHostile.size()] * (1 + static_cast<double>(draw >> 32) * 0x1p-32));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

/// Of an allreduce: blocks are alike.
Range even_block(const CallSpec& call, std::size_t block, std::size_t blocks) {
  const std::size_t share = call.count / blocks;
  const std::size_t rest = call.count % blocks;
  return {(share * block + std::min(block, rest)) * call.element, (share + (block < rest ? 1 : 0)) * call.element};
}

/// Contributions folded one after the other, from position `block` upwards around the ring.
void fold_block(const CallSpec& call, const std::vector<Bytes>& by_position, std::size_t block, Range range, Bytes& result) {
  const std::size_t size = by_position.size();
  const auto [begin, bytes] = range;
  if (bytes == 0) return;
  const Reducer reducer = reducer_of(call);
  Bytes sum(by_position[block].begin() + static_cast<std::ptrdiff_t>(begin),
            by_position[block].begin() + static_cast<std::ptrdiff_t>(begin + bytes));
  for (std::size_t step = 1; step < size; ++step) {
    Bytes next(bytes);
    std::memcpy(next.data(), by_position[(block + step) % size].data() + begin, bytes);
    reducer.fold(sum.data(), next.data(), next.data(), bytes, begin);
    sum = std::move(next);
  }
  std::memcpy(result.data() + begin, sum.data(), bytes);
}

/// What is a distance away is added on the left, the distance being the team's size halved, rounded up, and so on to 1;
/// values by distance backwards from the block's position.
void fold_halving(const CallSpec& call, const std::vector<Bytes>& by_position, std::size_t block, Range range, Bytes& result) {
  const std::size_t size = by_position.size();
  const auto [begin, bytes] = range;
  if (bytes == 0) return;
  std::vector<Bytes> sums;
  for (std::size_t back = 0; back < size; ++back) {
    const auto from = by_position[(block + size - back) % size].begin() + static_cast<std::ptrdiff_t>(begin);
    sums.emplace_back(from, from + static_cast<std::ptrdiff_t>(bytes));
  }
  while (sums.size() > 1) {
    const std::size_t distance = (sums.size() + 1) / 2;
    for (std::size_t i = 0; i + distance < sums.size(); ++i)
      reducer_of(call).fold(sums[i + distance].data(), sums[i].data(), sums[i].data(), bytes, begin);
    sums.resize(distance);
  }
  std::memcpy(result.data() + begin, sums[0].data(), bytes);
}

/// The first positions pair up until a power of two is left; then halves are joined, the lower one on the left.
Bytes fold_tree(const CallSpec& call, std::vector<Bytes> values) {
  const Reducer reducer = reducer_of(call);
  const auto join = [&](const Bytes& lower, Bytes upper) {
    reducer.fold(lower.data(), upper.data(), upper.data(), call.bytes(), 0);
    return upper;
  };
  const std::size_t extra = values.size() - std::bit_floor(values.size());
  std::vector<Bytes> level;
  for (std::size_t i = 0; i < 2 * extra; i += 2) level.push_back(join(values[i], values[i + 1]));
  for (std::size_t i = 2 * extra; i < values.size(); ++i) level.push_back(std::move(values[i]));
  while (level.size() > 1) {
    std::vector<Bytes> next;
    for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(join(level[i], std::move(level[i + 1])));
    level = std::move(next);
  }
  return level[0];
}

/// An allreduce of these.
Bytes fold_all(const CallSpec& call, AlgorithmChoice algorithm, std::vector<Bytes> by_position) {
  if (algorithm == AlgorithmChoice::doubling) return fold_tree(call, std::move(by_position));
  const auto fold = algorithm == AlgorithmChoice::halving ? fold_halving : fold_block;
  Bytes result(call.bytes());
  for (std::size_t position = 0; position < by_position.size(); ++position)
    fold(call, by_position, position, even_block(call, position, by_position.size()), result);
  return result;
}

/// A reduction of these to one of them.
Bytes fold_to(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<Bytes>& by_position, std::size_t root) {
  const bool halving = algorithm == AlgorithmChoice::halving;
  Bytes result(call.bytes());
  (halving ? fold_halving : fold_block)(call, by_position, halving ? root : (root + 1) % by_position.size(),
                                        {0, call.bytes()}, result);
  return result;
}

/// Each rank's block is added up as its node's.
Bytes fold_columns(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<std::vector<int>>& nodes,
                   const std::vector<Bytes>& by_node) {
  const bool halving = algorithm == AlgorithmChoice::halving;
  Bytes result(call.bytes());
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const int rank : nodes[node])
      (halving ? fold_halving : fold_block)(call, by_node, halving ? node : (node + 1) % nodes.size(), block_of(call, rank), result);
  return result;
}

std::size_t node_of(int rank, const std::vector<std::vector<int>>& nodes) {
  const auto has = [rank](const std::vector<int>& node) { return std::find(node.begin(), node.end(), rank) != node.end(); };
  return static_cast<std::size_t>(std::find_if(nodes.begin(), nodes.end(), has) - nodes.begin());
}

/// x0 op (x1 op (... xn)).
Bytes fold_node(const CallSpec& call, const std::vector<int>& ranks) {
  Bytes sum = contribution(call, ranks.back());
  for (std::size_t i = ranks.size() - 1; i-- > 0;) {
    const Bytes value = contribution(call, ranks[i]);
    reducer_of(call).fold(value.data(), sum.data(), sum.data(), call.bytes(), 0);
  }
  return sum;
}

}  // namespace

Range block_of(const CallSpec& call, int rank) {
  if (call.collective == Collective::broadcast || call.collective == Collective::reduce)
    return {0, rank == call.root ? call.bytes() : 0};
  const auto own = call.counts.begin() + rank;
  return {std::accumulate(call.counts.begin(), own, std::size_t{0}) * call.element, *own * call.element};
}

Range result_at(const CallSpec& call, int rank) {
  if (call.collective == Collective::barrier) return {0, 0};
  if (call.collective == Collective::allreduce || call.hands_round()) return {0, call.bytes()};
  return block_of(call, rank);
}

std::vector<int> ranks_of(const std::vector<std::vector<int>>& nodes) {
  std::vector<int> ranks;
  for (const std::vector<int>& node : nodes) ranks.insert(ranks.end(), node.begin(), node.end());
  return ranks;
}

Reducer reducer_of(const CallSpec& call) {
  const ReduceKernel kernel = find_kernel(call.type, call.op);
  return {kernel, host_reduce, nullptr, const_cast<std::size_t*>(&call.element), call.element, call.begin};
}

Bytes contribution(const CallSpec& call, int rank) {
  SimRandom random(call.seed + static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15);
  Bytes bytes(call.bytes());
  const std::span<std::byte> drawn(bytes.data(), std::min(bytes.size(), kDrawn));
  switch (call.type) {
    case NEZHA_FLOAT:
    case NEZHA_COMPLEX_FLOAT:
      fill_floats<float>(drawn, call.hostile, random);
      break;
    case NEZHA_DOUBLE:
      fill_floats<double>(drawn, call.hostile, random);
      break;
    default:
      for (std::size_t at = 0; at < drawn.size(); at += 8) {
        const std::uint64_t value = random.next();
        std::memcpy(drawn.data() + at, &value, std::min<std::size_t>(8, drawn.size() - at));
      }
  }
  repeat(bytes, drawn.size());
  return bytes;
}

Bytes expected_result(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<int>& order) {
  std::vector<Bytes> by_position;
  for (const int rank : order) by_position.push_back(contribution(call, rank));
  if (call.collective == Collective::allreduce) return fold_all(call, algorithm, std::move(by_position));
  if (algorithm == AlgorithmChoice::doubling) return fold_tree(call, std::move(by_position));
  Bytes result(call.bytes());
  const bool halving = algorithm == AlgorithmChoice::halving;
  const auto fold = halving ? fold_halving : fold_block;
  const std::size_t size = order.size();
  for (std::size_t position = 0; call.collective != Collective::barrier && position < size; ++position) {
    const Range range = block_of(call, order[position]);
    if (call.hands_round())
      std::copy_n(by_position[position].begin() + static_cast<std::ptrdiff_t>(range.begin), range.bytes,
                  result.begin() + static_cast<std::ptrdiff_t>(range.begin));
    else
      fold(call, by_position, halving ? position : (position + 1) % size, range, result);
  }
  return result;
}

Bytes expected_result(const CallSpec& call, AlgorithmChoice algorithm, const std::vector<std::vector<int>>& nodes,
                      const Cutting& cutting) {
  if (call.collective == Collective::barrier) return Bytes(call.bytes());
  if (call.collective == Collective::broadcast) return contribution(call, call.root);
  if (call.hands_round()) return expected_result(call, algorithm, ranks_of(nodes));
  std::vector<Bytes> sums;
  for (const std::vector<int>& node : nodes) sums.push_back(fold_node(call, node));
  if (nodes.size() == 1) return sums.front();
  if (call.collective == Collective::reduce_scatter && !cutting.as_allreduce) return fold_columns(call, algorithm, nodes, sums);
  Bytes result;
  for (std::size_t index = 0; index < cutting.parts; ++index) {
    const Range part = even_block(call, index, cutting.parts);
    for (std::size_t at = 0; at < part.bytes; at += cutting.segment) {
      CallSpec segment = call;
      segment.begin = part.begin + at;
      segment.count = std::min(cutting.segment, part.bytes - at) / call.element;
      std::vector<Bytes> by_node;
      for (const Bytes& sum : sums) {
        const auto from = sum.begin() + static_cast<std::ptrdiff_t>(segment.begin);
        by_node.emplace_back(from, from + static_cast<std::ptrdiff_t>(segment.bytes()));
      }
      const Bytes done = call.collective == Collective::reduce
                             ? fold_to(segment, algorithm, by_node, node_of(call.root, nodes))
                             : fold_all(segment, algorithm, std::move(by_node));
      result.insert(result.end(), done.begin(), done.end());
    }
  }
  return result;
}

}  // namespace nezha::test
