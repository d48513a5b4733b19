# SPDX-License-Identifier: BSD-3-Clause
"""Nezha while the rate of a rail changes: results stay right, and what each rail carries follows its rate."""

import os
import subprocess
import unittest

from bench_case import BUILD, program
from lab_case import eventually, make_lab

WINDOW = 24 << 20  # bytes that a node sends while rails are compared


class Rates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = program("nezha_allreduce_bench")
        cls.component = os.path.join(BUILD, "component")
        if not os.path.exists(os.path.join(cls.component, "mca_coll_nezha.so")):
            raise unittest.SkipTest(f"{cls.component} has no component")
        cls.lab = make_lab(cls, nodes=3, rails=["400mbit", "400mbit"])

    def sent(self):
        return [self.lab.nic_bytes(1, rail).sent for rail in (0, 1)]

    def share_of_second(self):
        """Of what node 1 sends from now on, until it is WINDOW."""
        before = self.sent()
        moved = lambda: [now - then for now, then in zip(self.sent(), before)]  # noqa: E731
        self.assertTrue(eventually(lambda: sum(moved()) > WINDOW, 60))
        return moved()[1] / sum(moved())

    def test_shares_follow(self):
        command = ["--mca", "coll_nezha_algorithm", "ring", self.program, "-s", "2M", "-i", "100000", "-T", "600", "-x", "1"]
        with self.lab.popen(command, component_dir=self.component, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True) as job:
            self.addCleanup(job.end)
            self.assertTrue(eventually(lambda: min(self.sent()) > WINDOW, 60), "the job does not come to use both rails")
            self.assertGreater(self.share_of_second(), 0.35)
            self.lab.rate(1, "40mbit")
            self.assertTrue(eventually(lambda: self.share_of_second() < 0.2, 120), "the slow rail keeps its share")
            self.lab.rate(1, "400mbit")
            self.assertTrue(eventually(lambda: self.share_of_second() > 0.35, 120), "the rail does not get its share back")
            self.assertIsNone(job.poll(), "the job ended before the rates changed")
            job.end()

    def test_results_stay_right(self):
        """The program checks every element of every result."""
        command = ["--mca", "coll_nezha_algorithm", "ring", self.program, "-s", "2M", "-i", "200", "-x", "1"]
        with self.lab.popen(command, component_dir=self.component, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True) as job:
            self.assertTrue(eventually(lambda: min(self.sent()) > WINDOW, 60))
            for rate in ("40mbit", "800mbit", "20mbit", "400mbit"):
                self.lab.rate(1, rate)
                self.share_of_second()
            errors = job.communicate(timeout=120)[1]
        self.assertEqual(job.returncode, 0, errors)


if __name__ == "__main__":
    unittest.main()
