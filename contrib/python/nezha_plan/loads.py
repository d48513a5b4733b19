# SPDX-License-Identifier: BSD-3-Clause
"""What one algorithm over some rails asks of a cluster: the chain of its hops, and how long each resource is busy with its bytes."""

import dataclasses

from . import algorithms, on_node, spread
from .algorithms import RING

CPU, LOCAL, UPLINKS = "cpu", "local", "uplinks of "


@dataclasses.dataclass(frozen=True)
class Load:
    hops: float  # one after the other
    message: float  # work for a message, of which each hop waits for one
    waits: float  # latencies of all hops
    messages: float  # that the busiest rank sends
    busy: dict  # {resource: seconds} with bytes alone
    refills: dict  # {resource: seconds} from one call's bytes to the next one's
    chunks: int  # so many chunks or segments follow each other, so that hops overlap
    shares: dict  # {rail: part of the bytes}
    overlap: float  # it takes so many times longer while another part of the vector is under way


def crowd(cluster):
    """Ranks that share one core."""
    if not cluster.cpu.cores:
        return 1.0
    machines = min(cluster.cpu.machines or cluster.nodes, cluster.nodes)
    return max(1.0, cluster.ranks / (machines * cluster.cpu.cores))


def of_algorithm(cluster, algorithm, rails, size, whole):
    """Of a vector of `whole` bytes the part of `size`; aggregators reduce the rest. Between nodes each carrier does what the algorithm does among as
    many ranks as there are nodes."""
    shared = on_node.of(cluster, size)
    part = size / shared.carriers
    count = algorithms.counts(algorithm, cluster.nodes)
    hops, sent = algorithms.chain(algorithm, cluster.nodes), part * count.sent
    messages, of_node = count.messages * shared.segments, sent * shared.carriers
    carried = spread.over(rails, cluster.devices, sent / messages, of_node / hops)
    factors = slowed(carried.rails, size < whole)
    chunks = _chunks(algorithm, cluster.nodes, part / shared.segments) * shared.segments if cluster.pipelined else 1
    blocks = (algorithms.pieces(algorithm, cluster.nodes) - count.messages) * shared.segments
    copying = shared.copied / cluster.local.rate * crowd(cluster)
    return Load(
        hops=hops, message=message_work(cluster, carried, size < whole),
        waits=_waits(cluster, carried, algorithm, hops) + shared.turns * cluster.local.latency,
        messages=max(count.messages * chunks, sent / algorithms.LARGEST_CHUNK),
        busy={**wires(cluster, carried, of_node, factors), **_uplinks(cluster, carried, algorithm, of_node),
              **work(cluster, carried, whole, sent, part * count.folded + shared.folded, factors,
                     blocks * cluster.cpu.piece * crowd(cluster) + copying),
              **({LOCAL: copying} if copying else {})},
        refills=refills(rails, of_node), chunks=chunks, shares=dict(zip([rail.name for rail in carried.rails], carried.shares)),
        overlap=overlap(carried.rails))


def slowed(rails, beside):
    """How many times as long a byte takes on each. beside: another part of the vector is under way at the same time."""
    if len(rails) > 1:
        return [rail.contention * rail.overlap for rail in rails]
    return [rail.contention if beside else 1.0 for rail in rails]


def overlap(rails):
    """What the rails of one part do to each other they do all the time: slowed() has it."""
    return rails[0].overlap if len(rails) == 1 else 1.0


def message_work(cluster, carried, beside):
    """Of one message; threads of rails send its frames at the same time."""
    split = cluster.cpu.split if beside or len(carried.rails) > 1 else 0.0
    return (carried.frame * (1 if cluster.cpu.rail_threads else carried.frames) + split) * crowd(cluster)


def _chunks(algorithm, ranks, size):
    """Of a ring's block; what the others hand on in a step has arrived whole."""
    if algorithm != RING:
        return 1
    block = max(1, size // ranks)
    return -(-block // algorithms.chunk(algorithm, block))


def _waits(cluster, carried, algorithm, hops):
    """Latencies one after the other: hops between nodes, and further switches."""
    above = sum(algorithms.crossing(algorithm, cluster.nodes, level.nodes).hops for level in cluster.switch.levels)
    return hops * carried.latency + above * 2 * cluster.switch.latency


def wires(cluster, carried, sent, factors):
    """Of rails and PCIe devices. sent: bytes that a node sends to others; factors: of slowed()."""
    busy = {}
    for rail, share, factor in zip(carried.rails, carried.shares, factors):
        mine = sent * share
        busy[f"rail {rail.name}"] = max(0.0, mine - rail.burst) / rail.rate * factor
        if rail.device:
            device = f"pcie {rail.device}"
            busy[device] = busy.get(device, 0.0) + mine / cluster.devices[rail.device]
    return busy


def refills(rails, sent):
    """{rail: seconds in which what a node sends comes back of its burst}. Calls that follow one another cannot take less, with the rest between
    them, whatever else the rails' bytes wait for. What is small takes the rail that is free, so that in the long run all of them share."""
    rate = sum(rail.rate for rail in rails)
    return {f"rail {rail.name}": sent / rate for rail in rails if rail.burst}


def rest(cluster, size):
    """Between two calls of that size; 0: long enough for whole bursts."""
    return cluster.rest + cluster.rest_byte * size * crowd(cluster)


def limited(sent, rate, burst, pause):
    """Of so many bytes in every call at the least."""
    beyond = max(0.0, sent - burst) / rate
    return max(beyond, sent / rate - pause) if burst and pause else beyond


def _uplinks(cluster, carried, algorithm, sent):
    rate, busy = sum(rail.rate for rail in carried.rails), {}
    for level in cluster.switch.levels:
        leaves = level.nodes * sent * algorithms.crossing(algorithm, cluster.nodes, level.nodes).part
        busy[uplinks(level)] = leaves * level.oversubscription / (level.nodes * rate)
    return busy


def uplinks(level):
    return f"{UPLINKS}{level.nodes} nodes"


def work(cluster, carried, whole, sent, folded, factors, more=0.0):
    """Of a rank's processor: with bytes that it sends to other nodes, with those that it adds, and for `more` seconds."""
    cpu = cluster.cpu
    slower = crowd(cluster)
    if cpu.cache and whole > cpu.cache:
        slower *= (cpu.cache + (whole - cpu.cache) * cpu.beyond) / whole
    busy = {CPU: folded * cpu.fold * slower + more}
    for rail, share, factor in zip(carried.rails, carried.shares, factors):
        who = f"thread of {rail.name}" if cpu.rail_threads else CPU
        busy[who] = busy.get(who, 0.0) + sent * share * rail.byte * factor * slower
    return busy
