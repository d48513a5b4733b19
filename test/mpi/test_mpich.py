#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""MPICH's own tests of allreduce and its siblings, blocking and not, with the component carrying them: over rails on one host,
in one node's shared memory, and on emulated nodes of several ranks."""

import unittest

from mpich_case import IN_MEMORY, MpichCase, OnNodesOfSeveralRanks
from mpi_case import RAILS


class MpichTests(OnNodesOfSeveralRanks, MpichCase):
    def test_over_rails(self):
        self.pass_with(self.on_this_host({**RAILS, "coll_nezha_shared_memory": "0"}))

    def test_within_a_node(self):
        self.pass_with(self.on_this_host({}), carries=IN_MEMORY)


if __name__ == "__main__":
    unittest.main()
