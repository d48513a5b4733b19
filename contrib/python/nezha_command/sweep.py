# SPDX-License-Identifier: BSD-3-Clause
"""Every size by every way, in alternating launches of mpirun: what nezha tune rests on."""

import dataclasses
import os
import statistics

from nezha_bench import launch, rounds
from nezha_bench.competitors import Effort, Programs, order
from nezha_bench.sizes import size_text

from . import installed
from .errors import CommandError

INCUMBENT = "incumbent"
# The largest vectors that a way is possible for, and of a size class the largest counts.
_COPIED, _RESERVED = 32 << 10, 32 << 20
LARGEST = {"single_step": _COPIED, "doubling": _COPIED, "mesh": _RESERVED, "halving": _RESERVED, "ring": None, INCUMBENT: None}
# What is so much slower than the fastest after the first round is not measured again.
_BEHIND = 1.5
# One rail alone is kept only where it takes at most this part of the time of what leaves the choice to the senders, who can
# follow what changes.
_CLEARLY = 0.97


@dataclasses.dataclass(frozen=True)
class Way:
    """A candidate of the table. chunk: bytes, 0 by the size of the vector; rail: "tcp/eth0" alone, "" the senders' choice."""

    algorithm: str
    chunk: int = 0
    rail: str = ""

    def text(self):
        on = f" on {self.rail}" if self.rail else ""
        return self.algorithm + on + (f" in chunks of {size_text(self.chunk).lower()}" if self.chunk else "")

    def on_any(self):
        return dataclasses.replace(self, rail="")

    def carries(self, size):
        """A vector of any length in the size class that begins with `size`."""
        most = LARGEST[self.algorithm]
        return most is None or 2 * size - 1 <= most

    def parameters(self):
        share = [("coll_nezha_share", f"{self.rail.partition('/')[2]}:1")] if self.rail else []
        return [("coll_nezha_learn", "0"), ("coll_nezha_algorithm", self.algorithm), ("coll_nezha_chunk", str(self.chunk)), *share]


class _Launcher:
    """Stands for nezha_bench.competitors.Launcher, with ways in the place of competitors."""

    def __init__(self, sizes, seconds, own):
        self.effort, self._own = Effort(tuple(sizes), seconds), own
        self.programs = Programs(os.path.join(installed.LIBEXEC, "nezha_allreduce_bench"), "", installed.COMPONENT)
        if not os.access(self.programs.mpi, os.X_OK):
            raise CommandError(f"there is no {self.programs.mpi}: install Nezha again")

    def of(self, way):
        """(arguments, keywords)"""
        words = [word for pair in (*self._own, *way.parameters()) for word in ("--mca", *pair)]
        return [*words, self.programs.mpi, "--json", "-s", ",".join(map(str, self.effort.sizes)), "-T",
                str(self.effort.seconds)], {}


class Sweep:
    """times[size][way]: seconds of a call, one for each round; ranks, nodes: of the job; rounds: that are complete."""

    def __init__(self, cluster, ways, sizes, seconds, own):
        self._cluster, self._seconds, self._own = cluster, seconds, own
        self.ways, self.sizes = sorted(ways, key=lambda way: way.rail != ""), list(sizes)
        self.times = {size: {way: [] for way in ways if way.carries(size)} for size in sizes}
        self.ranks = self.nodes = self.rounds = 0

    def run(self, count, step):
        for number in range(count):
            # In the first round one rail comes after all, for it is left out where that was far behind.
            sequence = order(self.ways, number) if number else self.ways
            for at, way in enumerate(sequence, 1):
                sizes = [size for size in self.sizes if way in self.times[size] and self._promising(size, way)]
                if sizes:
                    step(f"round {number + 1} of {count}, {at} of {len(sequence)} ways: {way.text()}, {len(sizes)} sizes")
                    self._launch(way, sizes)
            self.rounds = number + 1

    def _launch(self, way, sizes):
        launcher = _Launcher(sizes, self._seconds, self._own)
        found = launch.run(self._cluster, launcher, way, rounds.deadline(launcher.effort, 8))
        self.ranks, self.nodes = found.header.get("ranks", 0), found.header.get("nodes", 0)
        for size in sizes:
            members = found.sizes[size]
            if way.algorithm != INCUMBENT and members.get("nezha_calls", 0) < members["iterations"]:
                raise CommandError(f"the rails did not carry the calls of {size_text(size)} by {way.text()}: nezha doctor may "
                                   "tell why, coll_nezha_verbose 1 does")
            self.times[size][way].append(members["median_us"] / 1e6)

    def _promising(self, size, way):
        first = {other: times[0] for other, times in self.times[size].items() if times}
        return all(first[seen] <= _BEHIND * min(first.values()) for seen in {way, way.on_any()} if seen in first)

    def results(self):
        """{size: [(way, seconds)]}, the chosen one first, then by time; of what was left out after the first round that one's
        time, of what was not measured nothing."""
        return {size: _ranked([(way, statistics.median(times)) for way, times in ways.items() if times])
                for size, ways in self.times.items()}


def _ranked(measured):
    measured.sort(key=lambda entry: entry[1])
    on_any = [entry for entry in measured if not entry[0].rail]
    if not on_any or measured[0][1] <= _CLEARLY * on_any[0][1]:
        return measured
    return [on_any[0], *(entry for entry in measured if entry is not on_any[0])]
