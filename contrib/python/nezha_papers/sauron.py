# SPDX-License-Identifier: BSD-3-Clause
"""Tarraga-Moreno et al., "SAURON": PCIe devices, as nezha plan has them, and everything that nezha_simulate makes of the paper."""

import os

from nezha_command import installed, simulator
from nezha_command.terminal import Progress
from nezha_plan import pcie

from .row import Judged, Row

PAPER = "001"
MOST_GBPS = 32 * 8 * 512  # what the accelerators of section 3.5 generate
_GIVEN = "given"
_CLUSTER = {"nodes": 32, "accelerators": 8, "accelerator_gbps": 512, "train": 32}
_PACKETS = {"148-byte packets": {}, "4096-byte packets": {"intra_payload": 4032, "intra_header": 64}}
_PATTERNS, _LOADS = {"C4": 5, "C5": 0}, "10,20,30,40,50,60,70,80,90,100"


def rows():
    yield Row(PAPER, "PCIe 3.0, 16 lanes", 126, 8e-9 * pcie.raw_rate(3, 16), "Gbit/s", 0.001)
    yield Row(PAPER, "a TLP of 128 bytes, 16 lanes", 9.39, 1e9 * pcie.packet_seconds(3, 16, 128), "ns", 0.001)


def program(build):
    """Where a build has the simulator; it need not be there."""
    return os.path.join(build, "contrib", "simulate", "nezha_simulate")


def simulate(build, everything):
    """What the simulator of a build says of the paper: {"figures", "remarks"}. `everything`: of 128 and 512 nodes, too. CommandError
    where it fails."""
    installed.LIBEXEC = os.path.dirname(program(build))
    with Progress() as progress:
        return simulator.papers(everything, os.cpu_count() or 1, progress)


def simulated(found):
    """The rows of what simulate() gave; their names have the units."""
    for figure in found["figures"]:
        given = figure["allowed"] == _GIVEN
        yield Judged(PAPER, figure["what"], figure["paper"], figure["ours"], "", within="" if given else figure["allowed"], fitted=given,
                     good=figure["holds"], outside=figure["outside"])


def loads():
    """After simulate(): {packets inside a node: {pattern: [result by load...]}}, of what the paper's figures 4 and 5 show."""
    found = {}
    with Progress() as progress:
        for packets, own in _PACKETS.items():
            results = simulator.run({**_CLUSTER, **own}, list(_PATTERNS.values()), _LOADS, os.cpu_count() or 1, progress)
            each = len(results) // len(_PATTERNS)
            found[packets] = {name: results[number * each:(number + 1) * each] for number, name in enumerate(_PATTERNS)}
    return found
