#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers: address undefined
"""Every operation on every type, and types and operations of the program's own, on several numbers of ranks."""

import os
import unittest

from mpi_case import MpiCase

RANKS = (2, 3, 5, 7)
SANITIZED = "NEZHA_SANITIZER" in os.environ
# What Debian's 4.1 and 5.0 offer; fewer would mean that the program skipped what it should test.
LEAST_COMBINATIONS = 300


class Operations(MpiCase):
    def every_operation(self, np):
        done = self.passes("every_operation", np)
        self.assertGreaterEqual(sum(line.startswith("combination ") for line in done.stdout.splitlines()),
                                LEAST_COMBINATIONS)

    def test_every_operation_2_ranks(self):
        self.every_operation(2)

    def test_every_operation_3_ranks(self):
        self.every_operation(3)

    @unittest.skipIf(SANITIZED, "2 and 3 ranks are enough under a sanitizer")
    def test_every_operation_5_ranks(self):
        self.every_operation(5)

    @unittest.skipIf(SANITIZED, "2 and 3 ranks are enough under a sanitizer")
    def test_every_operation_7_ranks(self):
        self.every_operation(7)

    def test_each_algorithm(self):
        for algorithm in ("ring", "mesh", "single_step", "doubling"):
            with self.subTest(algorithm):
                self.passes("own_types", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": algorithm})

    def test_own_types(self):
        for np in RANKS:
            with self.subTest(np):
                self.passes("own_types", np)

    def test_one_rail_and_eight(self):
        for rails in ("1", "8"):
            with self.subTest(rails):
                self.passes("own_types", 4, params={"coll_nezha_single_node": rails})

    @unittest.skipIf(SANITIZED, "2.4 GB take too long under a sanitizer")
    def test_beyond_2_gib(self):
        self.passes("beyond_2gib", 2, timeout=600)


class Bits(MpiCase):
    def digest(self, np, **params):
        done = self.passes("same_bits", np, params={"coll_nezha_single_node": "2", **params})
        return [line for line in done.stdout.splitlines() if line.startswith("digest ")]

    def test_equal_on_all_ranks(self):
        for np in RANKS:
            with self.subTest(np):
                self.assertEqual(len(self.digest(np)), 1)

    def test_equal_run_after_run(self):
        for algorithm in ("ring", "mesh", "single_step", "doubling"):
            with self.subTest(algorithm):
                runs = [self.digest(3, coll_nezha_algorithm=algorithm) for _ in range(3)]
                self.assertEqual(runs, [runs[0]] * 3)

    def test_reproducible(self):
        runs = [self.digest(5, coll_nezha_reproducible="1") for _ in range(3)]
        self.assertEqual(runs, [runs[0]] * 3)

    def test_ring_and_meshes_agree(self):
        runs = [self.digest(5, coll_nezha_algorithm=algorithm) for algorithm in ("ring", "mesh", "single_step")]
        self.assertEqual(runs, [runs[0]] * 3)

    def test_shares_do_not_matter(self):
        runs = [self.digest(4, coll_nezha_algorithm="ring", coll_nezha_share=share)
                for share in ("lo0:1,lo1:1", "lo0:9,lo1:1", "lo0:1,lo1:5")]
        self.assertEqual(runs, [runs[0]] * 3)


if __name__ == "__main__":
    unittest.main()
