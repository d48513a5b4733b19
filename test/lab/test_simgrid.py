# SPDX-License-Identifier: BSD-3-Clause
"""What an allreduce takes in nezha simulate, beside SimGrid on the same platform."""

import os
import unittest

from bench_case import BUILD
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_papers importable)

from nezha_papers import simgrid


class SimGrid(unittest.TestCase):
    def test_allreduces(self):
        if not os.access(simgrid.program(BUILD), os.X_OK):
            self.skipTest("configure did not find SimGrid: contrib/install-packages programs")
        rows, remarks = simgrid.of_build(BUILD, False)
        self.assertEqual((len(rows), remarks), (len(simgrid.ALLOWED) * len(simgrid.RANKS), []))
        for row in rows:
            with self.subTest(figure=row.what):
                self.assertTrue(row.holds, f"{row.theirs:g} us there, {row.ours:g} here")


if __name__ == "__main__":
    unittest.main()
