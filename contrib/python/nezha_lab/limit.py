# SPDX-License-Identifier: BSD-3-Clause
"""The time below which no allreduce over the lab's rails can come, computed from the rates.

Every node must send, and receive, bytes * 2 (N-1) / N over its rails. A rail of 1 Gbit/s carries 957 Mbit/s of
payload (Ethernet, IP and TCP headers take the rest), and its token bucket lets one burst pass at memory speed. The
slowest node counts, since every node must have sent its part.
"""

import math

from .network import BURST_BYTES
from .spec import bits_per_second

PAYLOAD = 0.957


def allreduce_seconds(message_bytes, rates):
    """rates[node] lists the rates, as text, of that node's rails; 0.0 where nothing bounds it, or the bursts cover it."""
    nodes = len(rates)
    if nodes < 2:
        return 0.0
    return moved_seconds(message_bytes * 2 * (nodes - 1) / nodes, rates)


def moved_seconds(moved, rates):
    """The same of so many bytes that every node sends or receives."""
    return max(_node_seconds(moved, [bits_per_second(rate) for rate in own]) for own in rates)


def aggregated_seconds(message_bytes, rates, aggregator):
    """The same with an aggregator, whose rails have these rates: of a part s of the vector every node sends and receives s times the
    bytes, and the aggregator as much for each of them. The best s is where the nodes take as long as the aggregator, or 1."""
    nodes = len(rates)
    if nodes < 2:
        return 0.0
    slowest = min(rates, key=lambda own: sum(bits_per_second(rate) or math.inf for rate in own))
    own, center = ([bits_per_second(rate) for rate in rails] for rails in (slowest, aggregator))

    def seconds(part):
        return (_node_seconds(message_bytes * ((1 - part) * 2 * (nodes - 1) / nodes + part), own),
                _node_seconds(message_bytes * part * nodes, center))

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        of_nodes, of_center = seconds(middle)
        low, high = (middle, high) if of_center < of_nodes else (low, middle)
    return max(seconds(low))


def _node_seconds(moved, rails):
    if not rails:
        raise ValueError("a node without a rail moves nothing")
    if None in rails:
        return 0.0
    free = len(rails) * BURST_BYTES * PAYLOAD
    return max(0.0, (moved - free) * 8 / (sum(rails) * PAYLOAD))
