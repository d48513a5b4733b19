#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
# sanitizers: address undefined
"""Allreduces that do not block, and persistent ones."""

import unittest

from mpi_case import LONG, MpiCase

RANKS = (2, 3, 5) if LONG else (2, 5)
# The simulator (test/sim) mixes them with each of the algorithms.
ALGORITHMS = ("ring", "mesh", "single_step", "doubling", "halving") if LONG else ("mesh", "halving")


class Nonblocking(MpiCase):
    def test_ranks(self):
        for np in RANKS:
            with self.subTest(np):
                self.assertNotIn("no persistent", self.passes("nonblocking", np).stdout)

    def test_each_algorithm(self):
        for algorithm in ALGORITHMS:
            with self.subTest(algorithm):
                self.passes("nonblocking", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": algorithm})

    def test_learning(self):
        self.passes("nonblocking", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": "auto"})

    def test_only_barriers_block(self):
        self.passes("nonblocking", 3, "barriers")


if __name__ == "__main__":
    unittest.main()
