# SPDX-License-Identifier: BSD-3-Clause
"""How long an allreduce takes by one way, and what of that each resource is busy for.

A chain of hops waits for latency and for one message's work a hop. Beside that the busiest resource decides: rails, PCIe devices,
uplinks of switches, processors and the memory between ranks of a node work at the same time. The ring's hops overlap, too, where a
block is more than one chunk: a chunk moves on while the next one arrives.
"""

import dataclasses

from . import algorithms, spread
from .algorithms import RING

LATENCY, CPU, LOCAL = "latency", "cpu", "local"


@dataclasses.dataclass(frozen=True)
class Way:
    """rails: names; () is all of them."""

    algorithm: str
    rails: tuple = ()

    def text(self):
        return self.algorithm + (f" on {' and '.join(self.rails)}" if self.rails else "")


@dataclasses.dataclass(frozen=True)
class Estimate:
    way: Way
    size: int
    seconds: float
    busy: dict  # {resource: seconds}; LATENCY: those in which nothing else is waited for
    shares: dict  # {rail: part of the bytes}

    @property
    def limit(self):
        return max(self.busy, key=self.busy.get)


def estimate(cluster, way, size):
    rails = [rail for rail in cluster.trunk if not way.rails or rail.name in way.rails]
    count = algorithms.counts(way.algorithm, cluster.ranks)
    sent = size * count.sent
    carried = spread.over(rails, cluster.devices, sent / count.messages, sent / count.hops, cluster.cpu.split)
    inside = algorithms.crossing(way.algorithm, cluster.ranks, cluster.ranks_per_node)
    busy = {**_wires(cluster, carried, way.algorithm, sent, inside.part), **_work(cluster, carried, size, count, inside.part)}
    message = carried.message * crowd(cluster)
    chunks = _chunks(way.algorithm, cluster.ranks, size)
    messages = max(count.messages * chunks, sent / algorithms.LARGEST_CHUNK)
    waits = count.hops * message + _waits(cluster, carried, way.algorithm, count, inside)
    bytes_only = max(busy.values())
    busy[CPU] += messages * message
    if chunks > 1:  # the first of a block's chunks is on its way again before the last one arrives
        seconds = max(max(busy.values()) + waits / count.hops, waits + bytes_only / chunks)
    else:
        seconds = waits + max(bytes_only, busy[CPU] - count.hops * message)
    busy[CPU] += cluster.cpu.call
    seconds += cluster.cpu.call
    busy[LATENCY] = max(0.0, seconds - max(busy.values()))
    return Estimate(way, size, seconds, busy, {rail.name: share for rail, share in zip(carried.rails, carried.shares)})


def crowd(cluster):
    """Ranks that share one core."""
    if not cluster.cpu.cores:
        return 1.0
    machines = min(cluster.cpu.machines or cluster.nodes, cluster.nodes)
    return max(1.0, cluster.ranks / (machines * cluster.cpu.cores))


def _chunks(algorithm, ranks, size):
    """Of a ring's block; what the others hand on in a step has arrived whole."""
    if algorithm != RING:
        return 1
    block = max(1, size // ranks)
    return -(-block // algorithms.chunk(algorithm, block))


def _waits(cluster, carried, algorithm, count, inside):
    """Latencies one after the other: hops between nodes, hops within, and further switches."""
    total = inside.hops * carried.latency + (count.hops - inside.hops) * cluster.local.latency
    for level in cluster.switch.levels:
        above = algorithms.crossing(algorithm, cluster.ranks, level.nodes * cluster.ranks_per_node)
        total += above.hops * 2 * cluster.switch.latency
    return total


def _wires(cluster, carried, algorithm, sent, outside):
    """Seconds that each rail, PCIe device and stage of uplinks is busy. sent: bytes of a rank; outside: the part that leaves its node."""
    busy = {}
    for rail, share in zip(carried.rails, carried.shares):
        mine = cluster.ranks_per_node * sent * outside * share
        contention = rail.contention if len(carried.rails) > 1 else 1.0
        busy[f"rail {rail.name}"] = max(0.0, mine - rail.burst) * contention / rail.rate
        if rail.device:
            at = f"pcie {rail.device}"
            busy[at] = busy.get(at, 0.0) + mine / cluster.devices[rail.device]
    rate = sum(rail.rate for rail in carried.rails)
    for level in cluster.switch.levels:
        group = level.nodes * cluster.ranks_per_node
        leaves = group * sent * algorithms.crossing(algorithm, cluster.ranks, group).part
        busy[f"uplinks of {level.nodes}"] = leaves * level.oversubscription / (level.nodes * rate)
    return busy


def _work(cluster, carried, size, count, outside):
    """Seconds that a rank's processor and the memory between ranks are busy with bytes."""
    cpu = cluster.cpu
    slower = (min(size, cpu.cache) + max(0, size - cpu.cache) * cpu.beyond) / size if cpu.cache else 1.0
    costs = [share * rail.byte * (rail.contention if len(carried.rails) > 1 else 1.0)
             for rail, share in zip(carried.rails, carried.shares)]
    sent = size * count.sent
    moving = sent * outside * (max(costs) if cpu.rail_threads else sum(costs))
    folding = size * count.folded * cpu.fold
    work = (max(moving, folding) if cpu.rail_threads else moving + folding) * slower * crowd(cluster)
    busy = {CPU: work}
    if cluster.ranks_per_node > 1:
        busy[LOCAL] = cluster.ranks_per_node * sent * (1 - outside) / cluster.local.rate
    return busy
