#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""contrib/scale: lines through points, lanes counted, and one small run on the lab."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from bench_case import BUILD, TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_scale importable)

from nezha_scale import costs


def run_of(ranks, nezha, lanes, **more):
    """What the probe would print where each lane costs 30 KiB and 0.1 ms, and the component 500 KiB and 20 ms beside."""
    figures = {"init_ms": 100, "wiring_ms": 50, "wiring_cpu_ms": 20 + 0.1 * lanes if nezha else 0, "sockets": 6 + nezha * (lanes + 5),
               "start_kib": 4000 + 500 * nezha, "wired_kib": 4000 + nezha * (500 + 30 * lanes), "slab_kib": 1000,
               "worked_kib": 6000 + nezha * (500 + 30 * lanes), "first_us": 900 if nezha else 500, "second_us": 400}
    return {"ranks": ranks, "rails": 2, "nezha": nezha, **figures, **more}


class Costs(unittest.TestCase):
    def test_lanes(self):
        self.assertEqual(costs.lanes_of(8, 2, 8), 14)
        self.assertEqual(costs.lanes_of(16, 2, 8), 29)
        self.assertEqual(costs.lanes_of(64, 1, 8), 13)
        self.assertEqual(costs.lanes_of(1024, 2, 1024), 38)

    def test_functions(self):
        runs = [run_of(ranks, nezha, costs.lanes_of(ranks, 2, 8)) for ranks in (8, 16, 64) for nezha in (False, True)]
        rows = costs.points(runs, 8)
        self.assertEqual([(row["ranks"], row["lanes"], row["agreement_us"]) for row in rows], [(8, 14, 500), (16, 29, 500), (64, costs.lanes_of(64, 2, 8), 500)])
        lines = costs.functions(rows)
        self.assertAlmostEqual(lines["wired_kib"].each, 30)
        self.assertAlmostEqual(lines["wired_kib"].fixed, 500)
        large = costs.extrapolated(lines, 1024, 2)
        self.assertEqual(large["lanes"], 38)
        self.assertAlmostEqual(large["wired_mib"], (500 + 30 * 38) / 1024)
        self.assertAlmostEqual(large["wiring_cpu_s"], 0.02 + 0.1 * 38 / 1000)

    def test_one_size_goes_through_the_origin(self):
        self.assertEqual(costs.line_through([(10, 20), (10, 40)]), costs.Line(0.0, 3.0))


class Command(unittest.TestCase):
    def test_small(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "scale.json")
            done = subprocess.run([sys.executable, os.path.join(TOP, "contrib", "scale"), "--build", BUILD, "--nodes", "2", "--ranks", "2,4",
                                   "--rails", "2", "--rounds", "1", "--to", "64", "--json", path], capture_output=True, text=True,
                                  timeout=600, check=False)
            if done.returncode == 77:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        self.assertEqual([(row["ranks"], row["lanes"]) for row in found["measured"]], [(2, 2), (4, 5)])
        more = [row["sockets"] - row["lanes"] for row in found["measured"]]
        self.assertTrue(all(0 <= sockets <= 8 for sockets in more), f"sockets beside those of lanes: {more}")
        self.assertTrue(all(row["start_kib"] > 0 for row in found["measured"]))
        self.assertIn("Extrapolated", done.stdout)


if __name__ == "__main__":
    unittest.main()
