// SPDX-License-Identifier: BSD-3-Clause
/// Recursive halving and doubling for any number of positions: in each of ceil(log2(N)) steps a position hands on half
/// of the blocks whose sums it still holds, and gets those sums back in as many more. As few bytes as a ring, and for
/// no N an extra step for positions beyond a power of two, since distances are halved and rounded up instead of paired
/// (Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", 2024).
///
/// Seen from position r, block r + i has the index i; r owns block r. A distance goes from N to its half, rounded up,
/// and so on to 1: step k goes from distance reach(k) to reach(k + 1). In it r sends the indices from reach(k + 1) to
/// reach(k) - 1 to r + reach(k + 1), which adds them to its indices from 0 on. So something is added to an index in the
/// first so many steps, in their order, and its sum leaves in the only step whose distances it lies between. Sums come
/// back the same ways in reverse.
///
/// What arrives is the left operand. The order of sums is alike on all ranks, for one adds up and the others get the
/// result, but it is not the ring's. On the wire, steps 0..K-1 reduce and K..2K-1 gather, K + k being the reverse of k.
/// A contribution that comes before its turn waits in a buffer, which is touched only then.
///
/// Either half is a collective of its own; with one block, that of a root, it is a tree of ceil(log2(N)) steps.
#include <vector>

#include "alg/algorithm.h"
#include "alg/neighbours.h"
#include "alg/values.h"

namespace nezha {
namespace {

class Halving final : public Algorithm {
 public:
  explicit Halving(const TeamView& team) : Algorithm(team), reach_{team.size} {
    for (const int distance : halved_distances(team.size)) reach_.push_back(distance);
    for (int index = 0; index < team.size; ++index) {
      Way way;
      while (way.additions < steps() && index < reach(way.additions) / 2) ++way.additions;
      way.leaves = way.additions;
      while (index != 0 && index < reach(way.leaves + 1)) ++way.leaves;
      if (index != 0) way.hops = 1 + ways_[static_cast<std::size_t>(index - reach(way.leaves + 1))].hops;
      ways_.push_back(way);
    }
  }

  void begin(const Call& call) override {
    call_ = call;
    cut(layout_, call, team(), 0);
    values_.begin(call, layout_, team().position, team().size > 3, *team().buffers);
    if (call.reduces()) take_reserve();
    got_.assign(static_cast<std::size_t>(steps() + 1) * layout_.numbers(), {});
    added_.assign(layout_.numbers(), 0);
    left_ = 0;
    for (int index = 0; index < team().size; ++index)
      if (call.gathers() || way(index).additions != 0) left_ += layout_.chunks(block_of(index));
    if (call.reduces()) return hand_in();
    for (std::size_t chunk = 0; chunk < layout_.chunks(team().position); ++chunk) finish(0, chunk);
    values_.copy_own_block();
  }

  std::size_t expected(int from, const Call& call) const override {
    std::size_t bytes = 0;
    for (int step = 0; step < steps(); ++step) {
      if (call.reduces() && from == below(step)) bytes += bytes_of(call, 0, reach(step) / 2);
      if (call.gathers() && from == above(step)) bytes += bytes_of(call, reach(step + 1), reach(step));
    }
    return bytes;
  }

  Placement place(int from, const PieceHeader& piece) override {
    if (piece.step >= 2 * steps() || piece.offset >= call_.bytes()) return {PlaceKind::bad};
    const int block = layout_.block_of(piece.offset);
    if (!layout_.holds(block, piece.offset, piece.length)) return {PlaceKind::bad};
    const int index = index_of(block);
    if (!(piece.step < steps() ? call_.reduces() : call_.gathers())) return {PlaceKind::bad};
    if (piece.step >= steps()) {
      const int step = piece.step - steps();
      if (from != above(step) || index < reach(step + 1) || index >= reach(step)) return {PlaceKind::bad};
      return {PlaceKind::direct, values_.result(piece.offset), call_.reduces()};
    }
    if (from != below(piece.step) || index >= reach(piece.step) / 2) return {PlaceKind::bad};
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    Arrival& arrival = got(piece.step, index, chunk);
    if (arrival.place == Arrival::unknown)
      arrival.place = added(index, chunk) == piece.step ? Arrival::added_at_once : Arrival::reserved;
    if (arrival.place == Arrival::added_at_once) return {PlaceKind::scratch};
    return {PlaceKind::direct, reserved(piece.step, index, piece.offset)};
  }

  /// The sum contains what was sent of these bytes before.
  void arriving(int from, const PieceHeader& piece) override { team().superseded(from, piece.offset, piece.length); }

  bool arrived(int, const PieceHeader& piece, const std::byte* data) override {
    const int block = layout_.block_of(piece.offset);
    const int index = index_of(block);
    const bool reduces = piece.step < steps();
    const std::size_t chunk = layout_.chunk_of(block, piece.offset);
    Arrival& arrival = got(reduces ? piece.step : steps(), index, chunk);
    if (reduces && arrival.place == Arrival::added_at_once) add(piece.step, index, data, piece.offset, piece.length);
    arrival.bytes += piece.length;
    const std::size_t size = layout_.chunk_size(block, chunk);
    if (arrival.bytes > size) return false;
    if (arrival.bytes < size) return true;
    if (!reduces)
      finish(index, chunk);
    else if (added(index, chunk) == piece.step)
      go_on(index, chunk);
    return true;
  }

  bool awaits(int from) const override {
    for (int step = 0; step < steps(); ++step) {
      if (call_.reduces() && from == below(step) && lacks(step, 0, reach(step) / 2)) return true;
      if (call_.gathers() && from == above(step) && lacks(steps(), reach(step + 1), reach(step))) return true;
    }
    return false;
  }
  bool complete() const override { return left_ == 0; }

  void end() override {
    reserve_.give_back();
    values_.end(complete());
  }

 private:
  /// What has come of one chunk in one step.
  struct Arrival {
    enum Place : std::uint8_t { unknown, added_at_once, reserved };
    std::uint32_t bytes = 0;
    Place place = unknown;
  };

  /// Of the blocks with one index.
  struct Way {
    int additions = 0;  ///< in as many steps from 0 on something is added here
    int leaves = 0;     ///< the step in which the sum leaves
    int hops = 0;       ///< from here to the block's owner
  };

  int steps() const { return static_cast<int>(reach_.size()) - 1; }
  int reach(int step) const { return reach_[static_cast<std::size_t>(step)]; }
  /// Who sends here in that step of the reduction, and to whom this position sends.
  int below(int step) const { return team().next(team().position, -reach(step + 1)); }
  int above(int step) const { return team().next(team().position, reach(step + 1)); }

  int block_of(int index) const { return team().next(team().position, index); }
  int index_of(int block) const { return team().distance(team().position, block); }
  const Way& way(int index) const { return ways_[static_cast<std::size_t>(index)]; }

  std::size_t got_at(int step, int index, std::size_t chunk) const {
    return static_cast<std::size_t>(step) * layout_.numbers() + layout_.numbered(block_of(index), chunk);
  }
  Arrival& got(int step, int index, std::size_t chunk) { return got_[got_at(step, index, chunk)]; }
  /// Something of the indices from `first` to `end` - 1 has not come in that step.
  bool lacks(int step, int first, int end) const {
    for (int index = first; index < end; ++index)
      for (std::size_t chunk = 0; chunk < layout_.chunks(block_of(index)); ++chunk)
        if (got_[got_at(step, index, chunk)].bytes < layout_.chunk_size(block_of(index), chunk)) return true;
    return false;
  }
  /// How many steps have been added to a chunk.
  std::uint8_t& added(int index, std::size_t chunk) {
    return added_[layout_.numbered(block_of(index), chunk)];
  }

  std::byte* reserved(int step, int index, std::uint64_t offset) {
    return reserve_.data() + reserve_begin_[static_cast<std::size_t>(step)] + bytes_below(index) +
           (offset - layout_.begin(block_of(index)));
  }
  /// Of the blocks with the indices from `first` to `end` - 1, also before begin().
  std::size_t bytes_of(const Call& call, int first, int end) const {
    std::size_t bytes = 0;
    for (int index = first; index < end; ++index) bytes += owned_bytes(call, team(), block_of(index));
    return bytes;
  }
  /// Of the blocks with lower indices.
  std::size_t bytes_below(int index) const {
    const int end = block_of(index);
    const std::size_t own = layout_.before(team().position);
    if (end < team().position) return call_.bytes() - own + layout_.before(end);
    return layout_.before(end) - own;
  }
  void take_reserve() {
    std::size_t bytes = 0;
    reserve_begin_.clear();
    for (int step = 0; step < steps(); ++step) {
      reserve_begin_.push_back(bytes);
      bytes += bytes_below(reach(step) / 2);
    }
    if (bytes != 0) reserve_ = team().buffers->take(bytes);
  }

  void add(int step, int index, const std::byte* data, std::uint64_t offset, std::size_t size) {
    std::byte* sum = values_.sum(block_of(index), offset);
    call_.reducer.fold(data, step == 0 ? values_.contribution(offset) : sum, sum, size, offset);
  }

  /// What nothing is added to leaves as it is.
  void hand_in() {
    for (int index = team().size - 1; index > 0; --index)
      for (std::size_t chunk = 0; way(index).additions == 0 && chunk < layout_.chunks(block_of(index)); ++chunk)
        send_up(index, chunk, values_.contribution(layout_.chunk_begin(block_of(index), chunk)));
  }

  /// The contribution of the chunk's next step has arrived: adds it, and those of later steps up to the first gap.
  void go_on(int index, std::size_t chunk) {
    const int block = block_of(index);
    const std::size_t offset = layout_.chunk_begin(block, chunk);
    const std::size_t size = layout_.chunk_size(block, chunk);
    std::uint8_t& step = added(index, chunk);
    for (const int last = way(index).additions; step < last && got(step, index, chunk).bytes == size; ++step)
      if (got(step, index, chunk).place == Arrival::reserved)
        add(step, index, reserved(step, index, offset), offset, size);
    if (step < way(index).additions) return;
    if (index != 0) {
      if (!call_.gathers()) --left_;
      send_up(index, chunk, values_.sum(block, offset));
    } else {
      finish(index, chunk);
    }
  }

  /// The chunk's sum is complete here: sends it to the positions that contributed, first to those that pass it on to
  /// most.
  void finish(int index, std::size_t chunk) {
    --left_;
    if (!call_.gathers()) return;
    const std::size_t offset = layout_.chunk_begin(block_of(index), chunk);
    const std::byte* data = call_.reduces() || index != 0 ? values_.result(offset) : values_.block(offset);
    for (int step = way(index).additions - 1; step >= 0; --step)
      send(below(step), index, chunk, steps() + step, step + 1, data);
  }

  void send_up(int index, std::size_t chunk, const std::byte* data) {
    const int step = way(index).leaves;
    send(above(step), index, chunk, step, way(index).hops + steps(), data);
  }

  void send(int to, int index, std::size_t chunk, int step, int hops, const std::byte* data) {
    team().send(to, {.data = data,
                     .offset = layout_.chunk_begin(block_of(index), chunk),
                     .size = static_cast<std::uint32_t>(layout_.chunk_size(block_of(index), chunk)),
                     .step = static_cast<std::uint16_t>(step),
                     .hops = static_cast<std::uint16_t>(hops)});
  }

  Call call_;
  Layout layout_;
  Values values_;
  std::vector<int> reach_;           ///< distances: N, its half, ..., 1
  std::vector<Way> ways_;            ///< by index
  std::vector<std::size_t> reserve_begin_;  ///< by step: its first byte in the reserve
  std::vector<Arrival> got_;         ///< by step (the last for all of gathering) and chunk
  std::vector<std::uint8_t> added_;  ///< by chunk
  BufferPool::Buffer reserve_;       ///< contributions that came before their turn
  std::size_t left_ = 0;             ///< chunks of the result that are not final here
};

}  // namespace

std::unique_ptr<Algorithm> make_halving(const TeamView& team) { return std::make_unique<Halving>(team); }

}  // namespace nezha
