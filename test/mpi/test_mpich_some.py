#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""A few of MPICH's own tests of collectives with the component carrying them, on nodes of several ranks: one of each kind. All of
them, and more ways to spread ranks: test_mpich.py."""

import unittest

from mpich_case import IN_MEMORY, MpichCase


class SomeMpichTests(MpichCase):
    CHOSEN = ("op_coll", "opsum", "redscat", "bcasttest", "nonblocking")
    FAIL_ALONE = 0

    def test_a_node_of_eight(self):
        self.pass_with(self.on_this_host({}), 8, carries=IN_MEMORY)

    def test_four_nodes_of_four(self):
        self.pass_with(self.in_lab(4, 4), 16)

    def test_two_nodes_of_eight(self):
        self.pass_with(self.in_lab(2, 8), 16)


if __name__ == "__main__":
    unittest.main()
