# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a node do in the memory that they share, as components/engine/hierarchy.cc has it: they add up their vectors, as many as
are worth it carry a part each between the nodes, and all take the result. Of one rank a node it is nothing."""

import dataclasses
import math

# SharingOptions of engine/hierarchy.h, and up to what one rank adds up the vectors of all (node/node_layout.h).
LEAST_PART = 32 << 10
SEGMENTS, LEAST_SEGMENT, MOST_SEGMENT = 8, 256 << 10, 2 << 20
MOST_FOLDED, LEAST_SMALL, MOST_SMALL = 64 << 10, 2 << 10, 32 << 10
_TURNS, _TURNS_OF_SMALL = 3, 2  # that ranks wait for one another: contributed, reduced (of what is not small), carried


@dataclasses.dataclass(frozen=True)
class OnNode:
    carriers: int  # ranks of a node that exchange a part with their counterparts
    segments: int  # that a part goes in, one after the other
    turns: int = 0
    copied: float = 0.0  # bytes that a carrier copies
    folded: float = 0.0  # bytes that it adds on the node


def of(cluster, size):
    ranks = cluster.ranks_per_node
    if ranks == 1:
        return OnNode(1, 1)
    carriers = min(max(int(size // LEAST_PART), 1), ranks)
    part = size / carriers
    segments = math.ceil(part / min(max(part / SEGMENTS, LEAST_SEGMENT), MOST_SEGMENT))
    if size <= min(max(MOST_FOLDED // ranks, LEAST_SMALL), MOST_SMALL):
        return OnNode(carriers, segments, _TURNS_OF_SMALL, 2 * size, (ranks - 1) * size)
    others = (ranks - 1) / ranks
    # Its vector, but for what it adds up itself; its part, from those who have added it up; the result, for others or from them.
    return OnNode(carriers, segments, _TURNS, others * (size + part) + size, others * size)
