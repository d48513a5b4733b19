# SPDX-License-Identifier: BSD-3-Clause
"""How long an allreduce takes by one way, and what of that each resource is busy for.

A chain of hops waits for latency and for one message's work a hop. Beside that the busiest resource decides: rails, PCIe devices,
uplinks of switches and processors work at the same time. The ring's hops overlap, too, where a block is more than one chunk: a chunk
moves on while the next one arrives; and all hops, where ranks of a node carry their part in several segments. A part of the vector that aggregators reduce is under way
beside the rest, and what both use is busy for both. What rails let through in bursts has to come back from one call to the next, which
bounds the whole, not what stands in a chain.
"""

import dataclasses

from . import aggregation, loads
from .loads import CPU

LATENCY = "latency"
_LEAST = 1e-12  # seconds of what costs nothing, as where all fits into bursts: times are compared


@dataclasses.dataclass(frozen=True)
class Way:
    """rails: names of those that carry it; () is all. aggregated: the part of the vector that aggregators reduce; algorithm is '' where
    that is all of it."""

    algorithm: str
    rails: tuple = ()
    aggregated: float = 0.0

    def text(self):
        own = self.algorithm + (" on one rail" if len(self.rails) == 1 else f" on {' and '.join(self.rails)}" if self.rails else "")
        if not self.aggregated:
            return own
        return f"{own} and {100 * self.aggregated:.0f} % aggregated" if own else "aggregated"


@dataclasses.dataclass(frozen=True)
class Estimate:
    way: Way
    size: int
    seconds: float
    busy: dict  # {resource: seconds}; LATENCY: those in which nothing else is waited for
    shares: dict  # {rail: part of what it carries of the trunk's bytes}

    @property
    def limit(self):
        return max(self.busy, key=self.busy.get)


def estimate(cluster, way, size):
    parts = _parts(cluster, way, size)
    total = _summed(part.busy for part in parts)
    messages = sum(part.messages * part.message for part in parts)
    seconds = _longest(parts, [_seconds(part, total, part.messages * part.message if cluster.cpu.rail_threads else messages)
                               for part in parts]) + cluster.cpu.call
    for rail, again in _refilled(cluster, parts, size).items():
        total[rail] = max(total.get(rail, 0.0), again)
        seconds = max(seconds, again)
    seconds = max(seconds, _LEAST)
    busy = {**total, CPU: total[CPU] + messages + cluster.cpu.call}
    busy[LATENCY] = max(0.0, seconds - max(busy.values()))
    return Estimate(way, size, seconds, busy, parts[0].shares)


def _summed(several):
    total = {}
    for own in several:
        for resource, seconds in own.items():
            total[resource] = total.get(resource, 0.0) + seconds
    return total


def _refilled(cluster, parts, size):
    """{rail: seconds that calls take at least that follow one another}, where the rest between them is known."""
    pause = loads.rest(cluster, size)
    return {rail: seconds - pause for rail, seconds in _summed(part.refills for part in parts).items()} if pause else {}


def _parts(cluster, way, size):
    """The loads of what ranks reduce and of what aggregators reduce."""
    rails = [rail for rail in cluster.trunk if not way.rails or rail.name in way.rails]
    parts = []
    if way.aggregated < 1:
        parts.append(loads.of_algorithm(cluster, way.algorithm, rails, size * (1 - way.aggregated), size))
    if way.aggregated > 0:
        parts.append(aggregation.load(cluster, size * way.aggregated, size))
    return parts


def _longest(parts, seconds):
    """Of one or two parts, each of which may hold the other one up as long as it is under way itself."""
    if len(parts) == 1:
        return seconds[0]
    return max(_beside(own, other, part.overlap) for part, own, other in zip(parts, seconds, reversed(seconds)))


def _beside(own, other, overlap):
    """What takes `own` alone, while something else is under way for `other`."""
    return min(own * overlap, own + other * (1 - 1 / overlap))


def _seconds(part, total, messages):
    """Of one part, while the resources that it uses are busy with all of them."""
    moving = max(total[resource] for resource in part.busy)
    waits = part.hops * part.message + part.waits
    processor = total[CPU] + messages
    if part.chunks > 1:  # the first of them is on its way again before the last one arrives
        return max(max(moving, processor) + waits / part.hops, waits + moving / part.chunks)
    return waits + max(moving, processor - part.hops * part.message)
