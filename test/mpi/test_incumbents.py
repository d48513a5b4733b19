#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Below Nezha lies Open MPI's HAN, which finds in its first call that it does not serve a communicator with one rank on each
node, and changes the communicator's calls. (With several ranks on a node, HAN of 4.1 breaks these programs without Nezha too.)"""

import unittest

from fault_case import FaultCase
from mpi_case import program
from nezha_lab import openmpi

HAN = {"coll_han_priority": "40"}


class Han(FaultCase):
    nodes = 2

    def passes(self, *command, **params):
        job = self.start(*command, **HAN, **params)
        output = openmpi.output(job.communicate(timeout=200)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])

    def test_allreduce(self):
        self.passes(program("counters"), 20, 0.1)
        self.passes(program("communicators"), coll_nezha_learn="0")

    def test_its_calls_one_by_one(self):
        self.passes(program("siblings"), 4, coll_nezha_collectives="all")  # learning leaves some to it
        self.passes(program("siblings"), "carried", 0, coll_nezha_collectives="allreduce")


if __name__ == "__main__":
    unittest.main()
