# SPDX-License-Identifier: BSD-3-Clause
# long
"""nezha plan's model beside the algorithms themselves: whole engines on simulated rails, on which processors cost nothing."""

import os
import pathlib
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NEZHA_BUILD_DIR") or TOP / "build" / "check")
sys.path.insert(0, str(TOP / "contrib" / "python"))

from nezha_plan import algorithms, description, model  # noqa: E402
from nezha_plan.model import Way  # noqa: E402

PROGRAM = BUILD / "test" / "sim" / "allreduce_times"
RATE, DELAY = 1.25e9, 20e-6  # of that program
SEGMENT = 16 << 10  # is received whole there, as by a switch that stores and forwards
BULK = 2 << 20


def cluster(algorithm, ranks, rails, size):
    block = size // ranks
    message = size if algorithm in (algorithms.SINGLE_STEP, algorithms.DOUBLING) else min(block, algorithms.chunk(algorithm, block))
    rail = {"rate": "10gbit", "payload": 1, "latency": f"{1e9 * (DELAY + min(SEGMENT, message) / RATE):.0f}ns", "message": "0us", "byte": "0ns"}
    return description.cluster({"nodes": ranks, "rails": [rail] * rails, "cpu": {"call": "0us", "fold": "0ns", "piece": "0us"}})


class Times(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
        cls.rows = []
        for line in text.splitlines():
            algorithm, *numbers = line.split()
            ranks, rails, size, nanoseconds = map(int, numbers)
            ours = model.estimate(cluster(algorithm, ranks, rails, size), Way(algorithm), size).seconds
            cls.rows.append((algorithm, ranks, rails, size, ours / (nanoseconds / 1e9)))

    def test_large_vectors(self):
        """Where rates decide."""
        found = [row for row in self.rows if row[3] >= BULK]
        self.assertEqual(len(found), 30)
        for row in found:
            with self.subTest(row=row):
                self.assertTrue(0.87 <= row[-1] <= 1.06)

    def test_meshes_are_told_to_a_few_percent(self):
        for row in self.rows:
            if row[0] == algorithms.MESH and row[3] >= BULK:
                self.assertAlmostEqual(row[-1], 1, delta=0.04, msg=str(row))

    def test_small_vectors(self):
        """Where hops decide. Ranks there begin and look up some 20 us apart, which the model does not have."""
        for row in self.rows:
            with self.subTest(row=row):
                self.assertTrue(0.4 <= row[-1] <= 1.25)

    def test_half_of_all_within_a_tenth(self):
        self.assertGreater(sum(0.9 <= row[-1] <= 1.1 for row in self.rows), len(self.rows) / 2)


if __name__ == "__main__":
    unittest.main()
