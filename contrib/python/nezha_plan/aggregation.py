# SPDX-License-Identifier: BSD-3-Clause
"""What is reduced in the network: every node sends its part of the vector once and gets the sum back, whatever their number. Each has one
rank: aggregators are of no use to others (answers.py)."""

from . import loads, spread
from .loads import Load

WHO = "aggregators"
_HOPS = 2


def load(cluster, size, whole):
    """Of a vector of `whole` bytes aggregators reduce `size`."""
    own = cluster.aggregators
    rails = [rail for rail in cluster.rails if not own.rails or rail.name in own.rails]
    carried = spread.over(rails, cluster.devices, size, size)
    factors = loads.slowed(carried.rails, size < whole)
    return Load(
        hops=_HOPS, message=loads.message_work(cluster, carried, size < whole),
        waits=_HOPS * (carried.latency + own.latency + _switches(cluster) * cluster.switch.latency),
        messages=_HOPS,
        busy={**loads.wires(cluster, carried, size, factors), **loads.work(cluster, carried, whole, size, 0, factors),
              **_uplinks(cluster, rails, size), WHO: _aggregators(cluster, carried, size) * max(factors)},
        refills=loads.refills(rails, size), chunks=1, shares={}, overlap=loads.overlap(carried.rails))


def _switches(cluster):
    """On the way from a node to what reduces, beyond the node's own: a sum grows on the way up, a host process is in another group."""
    left = sum(level.nodes < cluster.nodes for level in cluster.switch.levels)
    return left if cluster.aggregators.kind == "switch" else 2 * left


def _aggregators(cluster, carried, size):
    own = cluster.aggregators
    if own.kind == "switch":  # each port takes in what its node sends; 0: as fast as that
        return size / own.rate if own.rate else 0.0
    taken = cluster.nodes * size / own.count  # bytes of one of them, and as many go out
    byte = sum(share * rail.byte for rail, share in zip(carried.rails, carried.shares)) + cluster.cpu.fold
    return max(taken / (own.rate or carried.rate), taken * byte + cluster.nodes * carried.frame * carried.frames)


def _uplinks(cluster, rails, size):
    """Switches send one sum on; what host processes reduce leaves every group whole."""
    rate, busy = sum(rail.rate for rail in rails), {}
    for level in cluster.switch.levels:
        senders = 1 if cluster.aggregators.kind == "switch" else min(level.nodes, cluster.nodes)
        outside = 1 - min(1.0, level.nodes / cluster.nodes)
        busy[loads.uplinks(level)] = senders * size * outside * level.oversubscription / (level.nodes * rate)
    return busy


def best_share(time):
    """The part from 0 to 1 for which time(part) is least, where that falls and then rises."""
    low, high = 0.0, 1.0
    for _ in range(24):
        third = (high - low) / 3
        if time(low + third) <= time(high - third):
            high -= third
        else:
            low += third
    return (low + high) / 2
