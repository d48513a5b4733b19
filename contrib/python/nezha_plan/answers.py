# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the model: every way at a size, the fastest, by how much, and the least that any allreduce would take."""

import dataclasses

from . import algorithms, model
from .algorithms import MESH, RING, SPLIT
from .model import Way


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


def ways(cluster, size):
    """What the engine tries: each algorithm that the size allows, and, where blocks are split among rails, ring and mesh on each alone."""
    found = [Way(name) for name in algorithms.ALL if algorithms.possible(name, size)]
    if len(cluster.trunk) > 1 and size // cluster.ranks >= SPLIT:
        found += [Way(name, (rail.name,)) for name in (RING, MESH) if algorithms.possible(name, size) for rail in cluster.trunk]
    return found


def answer(cluster, size):
    found = [model.estimate(cluster, way, size) for way in ways(cluster, size)]
    return Answer(size, tuple(sorted(found, key=lambda one: one.seconds)))


def answers(cluster, sizes):
    return [answer(cluster, size) for size in sizes]


def least(cluster, size):
    """Seconds below which no allreduce comes whose ranks reduce and send by themselves: a node has to send 2(N-1)/N times the vector."""
    rate = sum(rail.rate for rail in cluster.trunk)
    return 2 * (cluster.nodes - 1) / cluster.nodes * size / rate
