# SPDX-License-Identifier: BSD-3-Clause
"""Tarraga-Moreno et al., "SAURON": what the model of PCIe devices has from there (equations 1)."""

from nezha_plan import pcie

from .row import Row

PAPER = "001"


def rows():
    yield Row(PAPER, "PCIe 3.0, 16 lanes", 126, 8e-9 * pcie.raw_rate(3, 16), "Gbit/s", 0.001)
    yield Row(PAPER, "a TLP of 128 bytes, 16 lanes", 9.39, 1e9 * pcie.packet_seconds(3, 16, 128), "ns", 0.001)
