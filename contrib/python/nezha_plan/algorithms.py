# SPDX-License-Identifier: BSD-3-Clause
"""What each algorithm of components/alg does, counted: steps, messages, bytes, and how much of that leaves a group of ranks.

The counts are those of components/tuning/cost.cc (test/lab/test_plan_model.py compares them); a vector is 1. Ranks here are those that
send between nodes, one on each (on_node.py has the others); a group, the nodes under one switch, is a run of positions."""

import dataclasses
import functools

RING, MESH, SINGLE_STEP, DOUBLING, HALVING = "ring", "mesh", "single_step", "doubling", "halving"
ALL = (SINGLE_STEP, DOUBLING, MESH, HALVING, RING)

# The engine's limits: kMostCopied of util/params.h, kMostMesh of tuning/candidates.cc, kSmallestChunk, kLargestChunk and kChunks of
# tuning/plan.cc, and below what a block is not split among rails (kSplit of candidates.cc).
MOST_COPIED = 32 << 10
MOST_MESH = 32 << 20
MESH_PEERS = 32  # coll_nezha_mesh_peers
SMALL_MAX, MESH_BLOCK = 16 << 10, 8 << 10  # coll_nezha_small_max and coll_nezha_mesh_block
SMALLEST_CHUNK, LARGEST_CHUNK, CHUNKS = 16 << 10, 128 << 10, 2
SPLIT = 16 << 10
# A sender does not split so much; of slow rails what takes them LEAST_MICROSECONDS, but LEAST of any (trunk/lane_limits.cc).
WHOLE, LEAST, LEAST_MICROSECONDS = 8 << 10, 1 << 10, 130


@dataclasses.dataclass(frozen=True)
class Counts:
    hops: int  # one after the other
    messages: int  # that the busiest rank sends
    sent: float  # vectors that it sends
    folded: float  # vectors that it adds


@dataclasses.dataclass(frozen=True)
class Crossing:
    """What leaves a group of ranks."""

    part: float  # of the bytes that the group's ranks send
    hops: float  # of the chain of hops


def possible(algorithm, size, ranks=2):
    """Whether the engine takes it for a vector of that size; as it goes by size classes, for all of the class."""
    if algorithm in (MESH, SINGLE_STEP) and ranks > MESH_PEERS + 1:
        return False
    largest = (2 << size.bit_length() - 1) - 1
    if algorithm in (SINGLE_STEP, DOUBLING):
        return largest <= MOST_COPIED
    return algorithm == RING or largest <= MOST_MESH


def first(size, ranks):
    """What the engine takes before it has measured, and always where it does not learn: Plan::choose."""
    if size <= SMALL_MAX:
        return SINGLE_STEP if ranks <= 3 else DOUBLING
    if size // ranks > MESH_BLOCK:
        return RING
    return MESH if ranks <= MESH_PEERS + 1 else HALVING


def counts(algorithm, ranks):
    log = ranks.bit_length() - 1
    whole = ranks & (ranks - 1) == 0
    twice, once = 2 * (ranks - 1) / ranks, (ranks - 1) / ranks
    if algorithm == SINGLE_STEP:
        return Counts(1, ranks - 1, ranks - 1, ranks - 1)
    if algorithm == DOUBLING:
        busiest = log + (0 if whole else 1)
        return Counts(log + (0 if whole else 2), busiest, busiest, busiest)
    if algorithm == MESH:
        return Counts(2, 2 * (ranks - 1), twice, once)
    if algorithm == RING:
        return Counts(2 * (ranks - 1), 2 * (ranks - 1), twice, once)
    steps = log + (0 if whole else 1)
    return Counts(2 * steps, 2 * steps, twice, once)


def crossing(algorithm, ranks, group):
    """Of a group of so many ranks among all."""
    hops = chain(algorithm, ranks)
    if group >= ranks:
        return Crossing(0.0, 0)
    if algorithm == RING:  # one of its ranks sends out of the group
        return Crossing(1 / group, hops / group)
    if algorithm in (MESH, SINGLE_STEP):
        return Crossing((ranks - group) / (ranks - 1), hops)
    return _doubling(ranks, group) if algorithm == DOUBLING else _halving(ranks, group)


def _doubling(ranks, group):
    """Step s pairs positions that differ in bit s; where ranks are no power of two, neighbours pair up before and after."""
    log = ranks.bit_length() - 1
    aligned = group & (group - 1) == 0
    parts = [float(1 << bit >= group) if aligned else min(1.0, (1 << bit) / group) for bit in range(log)]
    extra = ranks - (1 << log)
    if extra:
        pairs_leave = group % 2  # else both of a pair are in one group
        return Crossing((sum(parts) + pairs_leave / group) / (log + 1), sum(part > 0 for part in parts) + 2 * pairs_leave)
    return Crossing(sum(parts) / log, sum(part > 0 for part in parts))


def reaches(ranks):
    """Halving's distances: the ranks, their half rounded up, ..., 1."""
    found = [ranks]
    while found[-1] > 1:
        found.append((found[-1] + 1) // 2)
    return found


def _halving(ranks, group):
    """A step sends the blocks beyond a distance so far on; each distance crosses the group's end for some rank."""
    distances = reaches(ranks)
    crossed = sum(before // 2 * min(1.0, after / group) for before, after in zip(distances, distances[1:]))
    return Crossing(crossed / (ranks - 1), chain(HALVING, ranks))


def chain(algorithm, ranks):
    """Hops that a byte's sum goes one after the other. cost.cc counts halving's steps; where ranks are no power of two, no block goes
    through all of them."""
    return 2 * _depth(ranks) if algorithm == HALVING else counts(algorithm, ranks).hops


@functools.lru_cache(maxsize=64)
def _depth(ranks):
    """The most hops of any of halving's blocks to its owner. A block beyond a distance is handed on by it, to what is that much nearer."""
    distances, hops = reaches(ranks), [0] * ranks
    for before, after in reversed(list(zip(distances, distances[1:]))):
        for index in range(after, before):
            hops[index] = 1 + hops[index - after]
    return max(hops)


def pieces(algorithm, ranks):
    """Blocks and vectors that a rank sends one by one: of halving many go into one message."""
    return 2 * (ranks - 1) if algorithm == HALVING else counts(algorithm, ranks).messages


def chunk(algorithm, block):
    """Bytes of a chunk, as Plan::chunk_for has them."""
    if algorithm == MESH:
        return LARGEST_CHUNK
    return min(max(block // CHUNKS, SMALLEST_CHUNK), LARGEST_CHUNK)
