#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Quantum ESPRESSO's pw.x: the ground state of silicon, with and without pools of k-points."""

import os
import re
import unittest

from program_case import HERE, ProgramCase

PSEUDOPOTENTIAL = "/usr/share/espresso/pseudo/Si.pz-vbc.UPF"
# Energy in Ry and bands in eV are printed to more digits than the threshold of convergence makes sure of.
ENERGY, BAND = 1e-6, 1e-3


def energy(text):
    return float(re.search(r"(?m)^! +total energy += +(-?[\d.]+) Ry", text)[1])


def bands(text):
    """All eigenvalues, in order."""
    blocks = re.findall(r"bands \(ev\):\n\n((?: +-?[\d. -]+\n)+)", text)
    return [float(number) for block in blocks for number in block.split()]


def check_pw(case, np, *options, largest):
    """Its answers by `np` ranks with the component and without."""
    case.needs("pw.x")
    if not os.path.exists(PSEUDOPOTENTIAL):
        case.skipTest(f"{PSEUDOPOTENTIAL} is not installed")
    command = ["pw.x", *options, "-in", os.path.join(HERE, "si.in")]
    (off, _), (on, _) = case.on_and_off(command, np, calls=200, largest=largest)
    case.assertIn("JOB DONE", on.stdout)
    case.assertAlmostEqual(energy(on.stdout), energy(off.stdout), delta=ENERGY)
    case.assertGreaterEqual(len(bands(off.stdout)), 8)
    case.assertEqual(len(bands(on.stdout)), len(bands(off.stdout)))
    for ours, theirs in zip(bands(on.stdout), bands(off.stdout)):
        case.assertAlmostEqual(ours, theirs, delta=BAND)


class Silicon(ProgramCase):
    def test_two_ranks(self):
        check_pw(self, 2, largest=4 << 10)

    def test_three_ranks(self):
        check_pw(self, 3, largest=4 << 10)

    def test_pools(self):
        check_pw(self, 4, "-nk", "2", largest=16 << 10)


if __name__ == "__main__":
    unittest.main()
