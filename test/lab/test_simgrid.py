# SPDX-License-Identifier: BSD-3-Clause
"""What an allreduce takes in nezha simulate, beside SimGrid on the same platform."""

import os
import subprocess
import tempfile
import unittest

from bench_case import BUILD

PROGRAMS = os.path.join(BUILD, "contrib", "simulate")
# SimGrid has no packages, and so no NIC that waits for the whole of one: what is sent in small pieces takes longer here. And its
# flows share a link that many send to, with no buffers that fill up.
ALLOWED = {("ring", 1 << 20): 0.05, ("halving", 1 << 20): 0.05, ("halving", 64 << 10): 0.10, ("mesh", 1 << 20): 0.15,
           ("doubling", 1 << 20): 0.10}


class SimGrid(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = os.path.join(PROGRAMS, "nezha_simgrid")
        if not os.access(cls.program, os.X_OK):
            raise unittest.SkipTest("configure did not find SimGrid: contrib/install-packages programs")

    def test_allreduces(self):
        for (algorithm, size), allowed in ALLOWED.items():
            for ranks in 4, 16:
                with self.subTest(algorithm=algorithm, size=size, ranks=ranks), tempfile.NamedTemporaryFile("w") as traffic:
                    subprocess.run([os.path.join(PROGRAMS, "nezha_traffic"), algorithm, str(ranks), str(size)], stdout=traffic, check=True)
                    done = subprocess.run([self.program, traffic.name], capture_output=True, text=True, check=True)
                    ours, theirs = map(float, done.stdout.split()[1:])
                    self.assertAlmostEqual(ours / theirs, 1, delta=allowed)


if __name__ == "__main__":
    unittest.main()
