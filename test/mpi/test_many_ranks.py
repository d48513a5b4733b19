#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of several ranks: calls go through their memory and over the rails between them."""

import time
import unittest

from fault_case import FaultCase
from mpi_case import program
from nezha_lab import openmpi

ROOTS = {"coll_nezha_collectives": "bcast,reduce", "coll_nezha_learn": "0"}


class ManyRanks(FaultCase):
    nodes, ppn = 4, 2

    def passed(self, job):
        output = openmpi.output(job.communicate(timeout=200)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])
        return output

    def test_roots(self):
        """Every one of them, also on communicators in another order, and within a node: by the memory."""
        self.passed(self.start(program("siblings"), "roots", before=("-x", "NEZHA_COUNTS_MEMORY=1"), **ROOTS))

    def test_blocks(self):
        """The same of reduce_scatters and allgathers of blocks of one size."""
        self.passed(self.start(program("siblings"), "blocks", before=("-x", "NEZHA_COUNTS_MEMORY=1"), coll_nezha_collectives="all",
                               coll_nezha_learn="0"))

    def test_all_collectives_while_a_rail_is_unplugged(self):
        job = self.start(program("siblings"), 4, coll_nezha_collectives="all")
        self.await_line(job, "rails carry")
        for pause, fault in ((0.5, self.lab.cut), (1.5, self.lab.heal)):
            time.sleep(pause)
            fault(1, 2)
        self.assertIn("rail tcp/eth1 is lost", self.passed(job))


if __name__ == "__main__":
    unittest.main()
