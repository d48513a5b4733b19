# SPDX-License-Identifier: BSD-3-Clause
"""The time below which no allreduce over the lab's rails can come, computed from the rates.

Every node must send, and receive, bytes * 2 (N-1) / N over its rails. A rail of 1 Gbit/s carries 957 Mbit/s of
payload (Ethernet, IP and TCP headers take the rest), and its token bucket lets one burst pass at memory speed. The
slowest node counts, since every node must have sent its part.

The bucket fills again at the rail's rate, while nothing is sent. So of calls that follow one another only the first finds it
full: each of the others has for nothing what came back in the pause before it.
"""

import dataclasses
import math

from .network import BURST_BYTES
from .spec import bits_per_second

PAYLOAD = 0.957


@dataclasses.dataclass(frozen=True)
class Rhythm:
    """So many calls in a row, with so many seconds from the end of one to the beginning of the next."""

    calls: int = 1
    pause: float = 0.0

    def free(self, rate):
        """Bytes that a rail of so many bits per second lets through for nothing in each call, on average, at most."""
        return min(BURST_BYTES, BURST_BYTES / self.calls + rate / 8 * self.pause)


ONCE = Rhythm()


def allreduce_seconds(message_bytes, rates, rhythm=ONCE):
    """rates[node] lists the rates, as text, of that node's rails; 0.0 where nothing bounds it, or the bursts cover it."""
    nodes = len(rates)
    if nodes < 2:
        return 0.0
    return moved_seconds(message_bytes * 2 * (nodes - 1) / nodes, rates, rhythm)


def moved_seconds(moved, rates, rhythm=ONCE):
    """The same of so many bytes that every node sends or receives."""
    return max(_node_seconds(moved, [bits_per_second(rate) for rate in own], rhythm) for own in rates)


def aggregated_seconds(message_bytes, rates, aggregators, rhythm=ONCE, own=()):
    """The same with aggregators, each (the rates of its rails, links): of a part s of the vector every node sends and receives s times
    the bytes, and an aggregator as much over each of its links. The best s is where the nodes take as long as the aggregators, or 1.
    In a tree an aggregator of a rack has a link to each of its nodes and one up, the upstream one has a link to each rack: over
    each of these goes one vector at least in each direction.
    own[node]: the rates of that node's rails that lead to the aggregators alone; if there are any, no other leads there."""
    nodes = len(rates)
    if nodes < 2:
        return 0.0
    apart = any(own)
    ways = [(rails, links) for rails, links in aggregators] + [(rails, 1) for rails in own if apart]

    def seconds(part):
        over_rails = (1 - part) * 2 * (nodes - 1) / nodes + (0 if apart else part)
        return (moved_seconds(message_bytes * over_rails, rates, rhythm),
                max(moved_seconds(message_bytes * part * links, [rails], rhythm) for rails, links in ways))

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        over_rails, to_center = seconds(middle)
        low, high = (middle, high) if to_center < over_rails else (low, middle)
    return max(seconds(low))


def _node_seconds(moved, rails, rhythm):
    if not rails:
        raise ValueError("a node without a rail moves nothing")
    if None in rails:
        return 0.0
    free = sum(map(rhythm.free, rails)) * PAYLOAD
    return max(0.0, (moved - free) * 8 / (sum(rails) * PAYLOAD))
