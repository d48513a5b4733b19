#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""MPICH's own tests of allreduce and its siblings, blocking and not, with the component carrying them: over rails on one host,
in one node's shared memory, and on emulated nodes of several ranks."""

import unittest

from mpich_case import IN_MEMORY, MpichCase
from mpi_case import RAILS


class MpichTests(MpichCase):
    def test_over_rails(self):
        self.pass_with(self.on_this_host({**RAILS, "coll_nezha_shared_memory": "0"}))

    def test_within_a_node(self):
        self.pass_with(self.on_this_host({}), carries=IN_MEMORY)

    def test_a_node_of_eight(self):
        self.pass_with(self.on_this_host({}), 8, carries=IN_MEMORY)

    def test_four_nodes_of_four(self):
        self.pass_with(self.in_lab(4, 4), 16)

    def test_two_nodes_of_eight(self):
        self.pass_with(self.in_lab(2, 8), 16)


if __name__ == "__main__":
    unittest.main()
