# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the model: every way at a size, the fastest, by how much, and the least that any allreduce would take."""

import dataclasses

from . import aggregation, algorithms, loads, model
from .algorithms import MESH, RING, SPLIT
from .model import Way

_LEAST_PART = 0.01  # of a vector, that is worth sending apart


@dataclasses.dataclass(frozen=True)
class Answer:
    size: int
    estimates: tuple  # by time

    @property
    def best(self):
        return self.estimates[0]

    @property
    def next(self):
        """The fastest by another algorithm or other rails; None where there is no other."""
        return self.estimates[1] if len(self.estimates) > 1 else None

    @property
    def margin(self):
        """Times as long as the fastest takes the next one."""
        return self.next.seconds / self.best.seconds if self.next else None


def estimate(cluster, way, size):
    """The model's, corrected by what was measured."""
    found = model.estimate(cluster, way, size)
    return cluster.corrections.corrected(cluster, found) if cluster.corrections else found


def _estimates(cluster, size):
    """What the engine tries: each algorithm that the size and the number of nodes allow, and, where blocks are split among rails, ring and mesh on the best rail
    alone. And what aggregators may do: all of it, or a part beside each of these; not where ranks of a node share memory."""
    names = [name for name in algorithms.ALL if algorithms.possible(name, size, cluster.nodes)]
    found = [estimate(cluster, Way(name), size) for name in names]
    if len(cluster.trunk) > 1 and size // cluster.nodes >= SPLIT:
        for name in (name for name in (RING, MESH) if name in names):
            found.append(min((estimate(cluster, Way(name, (rail.name,)), size) for rail in cluster.trunk), key=_time))
    if cluster.aggregators and cluster.ranks_per_node == 1:
        found.append(estimate(cluster, Way("", (), 1.0), size))
        found += filter(None, (_beside_aggregators(cluster, name, size) for name in names))
    return found


def _beside_aggregators(cluster, name, size):
    """With the best part for each; None where that is hardly anything for one of them."""
    def time(part):
        return estimate(cluster, Way(name, (), part), size).seconds

    part = aggregation.best_share(time)
    return estimate(cluster, Way(name, (), part), size) if _LEAST_PART <= part <= 1 - _LEAST_PART else None


def _time(estimate):
    return estimate.seconds


def answer(cluster, size):
    return Answer(size, tuple(sorted(_estimates(cluster, size), key=_time)))


def answers(cluster, sizes):
    return [answer(cluster, size) for size in sizes]


def least(cluster, size):
    """Seconds below which no allreduce comes whose ranks reduce and send by themselves: a node has to send 2(N-1)/N times the vector."""
    sent = 2 * (cluster.nodes - 1) / cluster.nodes * size
    rate, burst = (sum(getattr(rail, name) for rail in cluster.trunk) for name in ("rate", "burst"))
    return loads.limited(sent, rate, burst, loads.rest(cluster, size))
