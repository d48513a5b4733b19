# SPDX-License-Identifier: BSD-3-Clause
"""AWS, "Inter-node Collective Communications with AWS Neuron": steps, traffic, and where the single-step mesh wins."""

from nezha_plan import algorithms
from nezha_plan.algorithms import HALVING, MESH, RING, SINGLE_STEP

from .row import EXACT, Row

PAPER = "003"
HOP, RATE = 15e-6, 50e9 / 8  # a hop's latency and the link
_TEST = "test_figures.test_steps_and_traffic"


def seconds(algorithm, ranks, size):
    """Steps times latency and bytes over the rate, as there: messages cost nothing."""
    count = algorithms.counts(algorithm, ranks)
    return count.hops * HOP + count.sent * size / RATE


def single_step_until(ranks):
    """Bytes up to which the single-step mesh is faster than the mesh."""
    single, mesh = (algorithms.counts(name, ranks) for name in (SINGLE_STEP, MESH))
    return (mesh.hops - single.hops) * HOP * RATE / (single.sent - mesh.sent)


def rows():
    for ranks in (4, 16, 64):
        chunk = 1 / ranks  # C = B / N
        steps = {MESH: 2, SINGLE_STEP: 1, RING: 2 * (ranks - 1), HALVING: 2 * (ranks.bit_length() - 1)}
        traffic = {MESH: 2 * (ranks - 1) * chunk, SINGLE_STEP: (ranks - 1) * ranks * chunk, RING: 2 * (ranks - 1) * chunk,
                   HALVING: 2 * (ranks - 1) * chunk}
        for name in steps:
            count = algorithms.counts(name, ranks)
            yield Row(PAPER, f"{name}, {ranks} ranks, steps", steps[name], count.hops, "", EXACT, test=_TEST)
            yield Row(PAPER, f"{name}, {ranks} ranks, traffic", traffic[name], count.sent, "vectors", EXACT, test=_TEST)
        until = 93.75 * ranks / ((ranks - 1) * (ranks - 2))
        yield Row(PAPER, f"single_step up to, {ranks} ranks", until, single_step_until(ranks) / 1000, "kB", EXACT, test=_TEST)
    for name, size, theirs in (("1 KiB", 1 << 10, 160e-3), ("1 MiB", 1 << 20, 160), ("1 GiB", 1 << 30, 160e3)):
        yield Row(PAPER, f"transfer of {name} at 50 Gbit/s", theirs, 1e6 * size / RATE, "us", 0.08, test=_TEST)
