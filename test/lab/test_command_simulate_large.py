# SPDX-License-Identifier: BSD-3-Clause
# long
"""nezha simulate on the paper's clusters of 128 and 512 nodes."""

import json
import os
import subprocess
import tempfile
import unittest

from bench_case import BUILD, TOP
from command_case import COMMAND, CommandCase


class Large(CommandCase):
    def test_scale_out(self):
        done = subprocess.run([COMMAND, "simulate", "--papers", "--long", "--json"], capture_output=True, text=True, check=True)
        figures = [figure for figure in json.loads(done.stdout)["figures"] if " nodes, 8 x " in figure["what"]]
        self.assertEqual(len(figures), 2)
        for figure in figures:
            self.assertTrue(figure["holds"], figure)

    def test_512_nodes_at_full_load(self):
        """With packets that move together in eights, all that arrives inside the nodes."""
        done = subprocess.run([COMMAND, "simulate", "--nodes", "512", "--patterns", "C5", "--loads", "100", "--json"],
                              capture_output=True, text=True, check=True)
        (found,) = json.loads(done.stdout)["patterns"]["C5"]
        self.assertGreater(found["gbps"], 0.97 * 512 * 8 * 512)
        self.assertIn("nezha: 50 % simulated", done.stderr)


class WithTheSimulator(unittest.TestCase):
    """contrib/figures 001, of a build; what each may differ is checked by test_command_simulate.py."""

    def test_one_command_prints_it(self):
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.html")
            done = subprocess.run([os.path.join(TOP, "contrib", "figures"), "001", "--build", BUILD, "--page", page], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(page, encoding="utf-8") as file:
                self.assertEqual(file.read().count("<svg"), 2)
        self.assertRegex(done.stdout, r"ib_write of 4M, us +345\.97 +353\.\d+ +\+2\.2 % +2 % +missed +test_command_simulate\.")
        self.assertIn("- ib_write of 4M, us: 4 MiB in 345.97 us are", done.stdout)
        self.assertIn("- Table 3 has 1204 accelerators in 128 nodes of 8: 1024.", done.stdout)


if __name__ == "__main__":
    unittest.main()
