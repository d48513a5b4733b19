#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""HPC Challenge, a small run: its own checks of its results hold on rails too."""

import os
import re
import unittest

from program_case import ProgramCase, text_of


def summary(place):
    with open(os.path.join(place, "hpccoutf.txt"), encoding="utf-8", errors="replace") as file:
        text = file.read()
    return text, dict(re.findall(r"(?m)^(\w+)=(\S+)$", text))


def check_hpcc(case, np, parameters):
    """Its results by `np` ranks with the component and without, given its input."""
    case.needs("hpcc")
    (_, off), (_, on) = case.on_and_off(["hpcc"], np, files={"hpccinf.txt": parameters}, calls=100)
    text, ours = summary(on)
    _, theirs = summary(off)
    case.assertEqual(ours["Success"], "1", text[-2000:])
    case.assertRegex(text, r"1 tests completed and passed residual checks")
    case.assertNotIn("FAILED", text)
    for key in ("HPL_N", "MPIRandomAccess_N", "MPIFFT_N", "PTRANS_residual", "CommWorldProcs"):
        case.assertEqual(ours[key], theirs[key], key)
    # Updates of one word by two ranks at once may get lost, as its rules permit.
    case.assertLess(float(ours["MPIRandomAccess_ErrorsFraction"]), 0.01)


class Hpcc(ProgramCase):
    def test_small(self):
        check_hpcc(self, 2, text_of("hpccinf.txt"))


if __name__ == "__main__":
    unittest.main()
