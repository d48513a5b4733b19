# SPDX-License-Identifier: BSD-3-Clause
"""Cross-check of nezha simulate: the messages of our own allreduces by SimGrid, on a platform with the same rates and latencies."""

import os

from nezha_bench.sizes import size_text
from nezha_command import simulator

from . import sauron
from .row import Row

PAPER = "simgrid"
RANKS = (4, 16)
# Why they differ stands in words.py.
ALLOWED = {("ring", 1 << 20): 0.05, ("halving", 1 << 20): 0.05, ("halving", 64 << 10): 0.10, ("mesh", 1 << 20): 0.15,
           ("doubling", 1 << 20): 0.10}


def program(build):
    """Where a build has it if configure has found SimGrid."""
    return os.path.join(build, "contrib", "simulate", "nezha_simgrid")


def rows():
    return []  # without a build


def of_build(build, _):
    """(rows, remarks). CommandError where a program fails."""
    if not os.access(program(build), os.X_OK):
        return [], ["Not compared: configure did not find SimGrid (contrib/install-packages programs)."]
    sauron.use(build)
    return [_row(algorithm, size, ranks, allowed) for (algorithm, size), allowed in ALLOWED.items() for ranks in RANKS], []


def _row(algorithm, size, ranks, allowed):
    with simulator.messages(algorithm, ranks, size) as path:
        ours, theirs = map(float, simulator.output_of("nezha_simgrid", path).split()[1:])
    return Row(PAPER, f"{algorithm} of {size_text(size)}, {ranks} ranks", theirs, ours, "us", allowed, test="test_simgrid.test_allreduces")
