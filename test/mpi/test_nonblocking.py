#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
# sanitizers: address undefined
"""Allreduces that do not block, and persistent ones."""

import unittest

from mpi_case import LONG, RAILS, SAME_ORDER, SOME_ALGORITHMS, MpiCase, preloaded

RANKS = (2, 3, 5) if LONG else (2, 5)


class Nonblocking(MpiCase):
    def test_ranks(self):
        for np in RANKS:
            with self.subTest(np):
                self.assertNotIn("no persistent", self.passes("nonblocking", np, params={**RAILS, **SAME_ORDER}).stdout)

    def test_each_algorithm(self):
        for algorithm in SOME_ALGORITHMS:  # the simulator (test/sim) mixes them with each
            with self.subTest(algorithm):
                self.passes("nonblocking", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": algorithm, **SAME_ORDER})

    def test_learning(self):
        self.passes("nonblocking", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": "auto", **SAME_ORDER})

    def test_only_barriers_block(self):
        """And persistent calls are started in different orders, since nothing says that they are not."""
        self.passes("nonblocking", 3, "barriers")

    def test_never_completed(self):
        for library in ([], [preloaded("late_progress")]):
            with self.subTest(library):
                self.passes("unfinished", 3, preload=library, timeout=60)


if __name__ == "__main__":
    unittest.main()
