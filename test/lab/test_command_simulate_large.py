# SPDX-License-Identifier: BSD-3-Clause
# long
"""nezha simulate on the paper's clusters of 128 and 512 nodes."""

import json
import subprocess
import unittest

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


if __name__ == "__main__":
    unittest.main()
