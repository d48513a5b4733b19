# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on four nodes whose rails are RDMA devices too, in a guest: lab guest -- nezha_lab/tap.py THIS."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))

from fault_case import BYTES, FaultCase  # noqa: E402 (the path must be set first)
from mpi_case import program  # noqa: E402
from nezha_lab import Lab, LabUnavailable  # noqa: E402


class GuestCase(FaultCase):
    """One lab for all: it takes ten seconds to come up."""

    nodes, rates = 4, ["none", "none"]

    @classmethod
    def setUpClass(cls):
        cls.shared = Lab(nodes=cls.nodes, rails=cls.rates, with_rdma=True)
        try:
            cls.shared.up(ephemeral=True)
        except LabUnavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        cls.addClassCleanup(cls.shared.down)

    def setUp(self):
        self.lab = self.shared


class Devices(GuestCase):
    def test_each_node_has_its_own(self):
        for node in range(self.nodes):
            shown = self.lab.exec(node, ["rdma", "link"], capture_output=True, text=True, check=True).stdout.split()
            self.assertEqual([word for word in shown if "rxe" in word], [f"n{node}rxe0/1", f"n{node}rxe1/1"])


class TcpJobs(GuestCase):
    def test_sums_over_two_rails(self):
        job = self.start(program("survives"), 1, BYTES, coll_nezha_algorithm="ring")
        output = job.communicate(timeout=120)[0]
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])

    def test_carrier_lost(self):
        self.survives([(1, self.lab.cut, 1, 2), (2, self.lab.heal, 1, 2)], seconds=3)


if __name__ == "__main__":
    unittest.main()
