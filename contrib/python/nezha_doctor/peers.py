# SPDX-License-Identifier: BSD-3-Clause
"""Whom a node tries: all others, or, of a large cluster, as many as it has time for, near and far.

Who is tried tries back, so that each lane is tried from both ends.
"""

MOST = 64


def tried_by(nodes, node):
    """Those of the list `nodes` that `node` tries, in the order of the list."""
    count, index = len(nodes), nodes.index(node)
    if count <= MOST + 1:
        return [name for name in nodes if name != node]
    numbers = {(index + way * step) % count for step in _steps(count) for way in (1, -1)}
    return [nodes[number] for number in sorted(numbers)]


def _steps(count):
    """How far away in the list: the next ones, which often share a switch, then ever farther, to the other end."""
    half = MOST // 2
    return [max(number, int((count // 2) ** (number / half))) for number in range(1, half + 1)]


def pairs(count):
    """(pairs that are tried, all pairs) of that many nodes."""
    each = len(tried_by(range(count), 0)) if count else 0  # all try as many, and each pair is tried from both ends
    return count * each // 2, count * (count - 1) // 2
