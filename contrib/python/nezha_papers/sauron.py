# SPDX-License-Identifier: BSD-3-Clause
"""Tarraga-Moreno et al., "SAURON": PCIe devices, as nezha plan has them, and everything that nezha_simulate makes of the paper."""

import os

from nezha_command import installed, simulator
from nezha_command.errors import CommandError
from nezha_command.terminal import Progress
from nezha_plan import pcie

from .row import Judged, Row

PAPER = "001"
MOST_GBPS = 32 * 8 * 512  # what the accelerators of section 3.5 generate
_GIVEN = "given"
_SMALL, _LARGE = "test_command_simulate.test_published_figures", "test_command_simulate_large.test_scale_out"
_OF_LARGE = " nodes, 8 x "  # in the names of the figures that --long adds
_CLUSTER = {"nodes": 32, "accelerators": 8, "accelerator_gbps": 512, "train": 32}
_PACKETS = {"148-byte packets": {}, "4096-byte packets": {"intra_payload": 4032, "intra_header": 64}}
_PATTERNS, _LOADS = {"C4": 5, "C5": 0}, "10,20,30,40,50,60,70,80,90,100"


def rows():
    test = "test_figures.test_pcie_devices"
    yield Row(PAPER, "nezha plan: PCIe 3.0, 16 lanes", 126, 8e-9 * pcie.raw_rate(3, 16), "Gbit/s", 0.001, test=test)
    yield Row(PAPER, "nezha plan: a TLP of 128 bytes, 16 lanes", 9.39, 1e9 * pcie.packet_seconds(3, 16, 128), "ns", 0.001, test=test)


def program(build):
    """Where a build has the simulator; it need not be there."""
    return os.path.join(build, "contrib", "simulate", "nezha_simulate")


def use(build):
    """Makes nezha_command.simulator run the programs of that build. CommandError where they are not there."""
    if not os.access(program(build), os.X_OK):
        raise CommandError(f"{program(build)} is not there, so that nothing is simulated: contrib/build makes it, and --build names another build")
    installed.LIBEXEC = os.path.dirname(program(build))


def of_build(build, everything):
    """(rows, remarks): what the simulator of a build says of the paper. `everything`: of 128 and 512 nodes, too. CommandError where it fails."""
    use(build)
    with Progress() as progress:
        found = simulator.papers(everything, os.cpu_count() or 1, progress)
    return list(simulated(found)), found["remarks"]


def simulated(found):
    """The rows of what simulator.papers() gave; their names have the units."""
    for figure in found["figures"]:
        given = figure["allowed"] == _GIVEN
        yield Judged(PAPER, figure["what"], figure["paper"], figure["ours"], "", within="" if given else figure["allowed"], fitted=given,
                     good=figure["holds"], outside=figure["outside"], test=_LARGE if _OF_LARGE in figure["what"] else _SMALL)


def loads():
    """After of_build(): {packets inside a node: {pattern: [result by load...]}}, of what the paper's figures 4 and 5 show."""
    found = {}
    with Progress() as progress:
        for packets, own in _PACKETS.items():
            results = simulator.run({**_CLUSTER, **own}, list(_PATTERNS.values()), _LOADS, os.cpu_count() or 1, progress)
            each = len(results) // len(_PATTERNS)
            found[packets] = {name: results[number * each:(number + 1) * each] for number, name in enumerate(_PATTERNS)}
    return found
