#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""HPC Challenge, a small run: its own checks of its results hold on rails too."""

import os
import re
import unittest

from program_case import ProgramCase


def summary(place):
    with open(os.path.join(place, "hpccoutf.txt"), encoding="utf-8", errors="replace") as file:
        text = file.read()
    return text, dict(re.findall(r"(?m)^(\w+)=(\S+)$", text))


class Hpcc(ProgramCase):
    def test_small(self):
        self.needs("hpcc")
        (_, off), (_, on) = self.on_and_off(["hpcc"], 2, files=["hpccinf.txt"], calls=100)
        text, ours = summary(on)
        _, theirs = summary(off)
        self.assertEqual(ours["Success"], "1", text[-2000:])
        self.assertRegex(text, r"1 tests completed and passed residual checks")
        self.assertNotIn("FAILED", text)
        for key in ("HPL_N", "MPIRandomAccess_N", "MPIFFT_N", "PTRANS_residual", "MPIRandomAccess_Errors", "CommWorldProcs"):
            self.assertEqual(ours[key], theirs[key], key)


if __name__ == "__main__":
    unittest.main()
