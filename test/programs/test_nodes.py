#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""Programs by eight ranks on two nodes: pw.x, HPC Challenge, and LAMMPS, whose Ewald sums all ranks add up at each step."""

import re
import unittest

from program_case import NodesCase, text_of
from test_hpcc import check_hpcc
from test_pw import check_pw

RANKS = 8
# Of what LAMMPS prints: sums in another order differ in the last of its eight digits, and a melt makes that more.
DIGITS = 1e-5


def thermo(text):
    """Lines of numbers, one for every tenth step."""
    table = re.search(r"(?m)^Step Temp .*\n((?:[ \d.eE+-]+\n)+)", text)[1]
    return [[float(number) for number in line.split()] for line in table.splitlines()]


class TwoNodes(NodesCase):
    def test_pw(self):
        check_pw(self, RANKS, largest=4 << 10)

    def test_hpcc(self):
        grid = re.sub(r"(?m)^1( +Ps)$", r"2\1", text_of("hpccinf.txt"))
        check_hpcc(self, RANKS, re.sub(r"(?m)^2( +Qs)$", r"4\1", grid))

    def test_lammps(self):
        self.needs("lmp")
        (off, _), (on, _) = self.on_and_off(["lmp", "-in", "salt.in", "-log", "none"], RANKS, files={"salt.in": text_of("salt.in")},
                                            calls=60, of_at_least=8 << 10)
        ours, theirs = thermo(on.stdout), thermo(off.stdout)
        self.assertEqual(len(ours), 6)
        self.assertEqual(len(theirs), 6)
        for own, other in zip(ours, theirs):
            for number, expected in zip(own, other):
                self.assertAlmostEqual(number, expected, delta=DIGITS * abs(expected))


if __name__ == "__main__":
    unittest.main()
