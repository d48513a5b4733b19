#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers: address undefined
"""Every operation on every type, and operations of the program's own, on several numbers of ranks."""

import os
import unittest

from mpi_case import LONG, SOME_ALGORITHMS, MpiCase, mpirun, preloaded, program
from nezha_lab import openmpi

RANKS = (2, 3, 5, 7) if LONG else (2, 5)
RUNS = 3 if LONG else 2
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

    if LONG:  # test_each_algorithm has 3 ranks too

        def test_every_operation_3_ranks(self):
            self.every_operation(3)

        @unittest.skipIf(SANITIZED, "2 and 3 ranks are enough under a sanitizer")
        def test_every_operation_5_ranks(self):
            self.every_operation(5)

        @unittest.skipIf(SANITIZED, "2 and 3 ranks are enough under a sanitizer")
        def test_every_operation_7_ranks(self):
            self.every_operation(7)

    def test_each_algorithm(self):
        for algorithm in SOME_ALGORITHMS:  # test/threads/test_allreduce.cc has every operation with each
            with self.subTest(algorithm):
                self.passes("every_operation", 3, params={"coll_nezha_single_node": "2", "coll_nezha_algorithm": algorithm})

    def test_own_types(self):
        for np in RANKS:
            with self.subTest(np):
                self.passes("own_types", np)

    def test_operation_that_locks(self):
        self.passes("locking_operation", 2, timeout=60)

    if openmpi.major() >= 5:  # 4.1 knows no accelerators unless it is built for CUDA

        def test_device_memory_on_some_ranks(self):
            self.assertNotIn("no accelerators", self.passes("device_memory", 3, timeout=60).stdout)

    def test_number_of_rails(self):
        for rails in (1, 8) if LONG else (8,):
            with self.subTest(rails):
                params = {"coll_nezha_single_node": str(rails), "coll_nezha_algorithm": "ring"}
                self.passes("every_operation", 4, params=params)
                # Shares that are fixed, so that every rail has one whatever this machine makes of them.
                params["coll_nezha_share"] = ",".join(f"lo{rail}:1" for rail in range(rails))
                sent = self.counters(self.passes("counters", 4, "20", params=params))["rail_bytes_sent"]
                self.assertEqual([bytes_sent > 0 for bytes_sent in sent], [True] * rails)

    @unittest.skipIf(SANITIZED, "what is called is the same under a sanitizer")
    def test_own_kernels(self):
        """Plain types are reduced by the component's own kernels; that MPI's reductions are noticed is seen with others."""
        library = [preloaded("no_reduce_local")]
        self.passes("counters", 2, "20", "20", preload=library)
        done = mpirun([program("same_bits")], 2, preload=library)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MPI was asked for a reduction", done.stderr)

    if LONG and not SANITIZED:
        def test_beyond_2_gib(self):
            self.passes("beyond_2gib", 2, timeout=600)


class Bits(MpiCase):
    def digest(self, np, **params):
        """Without trials, all calls are carried by rails."""
        done = self.passes("same_bits", np, params={"coll_nezha_single_node": "2", "coll_nezha_learn": "0", **params})
        return [line for line in done.stdout.splitlines() if line.startswith("digest ")]

    def test_equal_on_all_ranks(self):
        for np in RANKS:
            with self.subTest(np):
                self.assertEqual(len(self.digest(np)), 1)

    def test_equal_run_after_run(self):
        for algorithm in SOME_ALGORITHMS:
            with self.subTest(algorithm):
                runs = [self.digest(3, coll_nezha_algorithm=algorithm) for _ in range(RUNS)]
                self.assertEqual(runs, [runs[0]] * RUNS)

    def test_reproducible(self):
        runs = [self.digest(5, coll_nezha_reproducible="1", coll_nezha_learn="1") for _ in range(RUNS)]
        self.assertEqual(runs, [runs[0]] * RUNS)

    def test_ring_and_meshes_agree(self):
        runs = [self.digest(5, coll_nezha_algorithm=algorithm) for algorithm in ("ring", "mesh", "single_step")]
        self.assertEqual(runs, [runs[0]] * 3)
        # The others have orders of their own: were the parameter ignored, there would be no difference.
        for algorithm in ("doubling", "halving"):
            self.assertNotEqual(self.digest(5, coll_nezha_algorithm=algorithm), runs[0])

    def test_shares_do_not_matter(self):
        shares = {"lo0:1,lo1:1": 1 / 2, "lo0:9,lo1:1": 9 / 10, "lo0:1,lo1:5": 1 / 6}
        runs = []
        for share, first in shares.items():
            params = {"coll_nezha_algorithm": "ring", "coll_nezha_share": share}
            runs.append(self.digest(4, **params))
            done = self.passes("counters", 4, "20", params={"coll_nezha_single_node": "2", **params})
            self.assertAlmostEqual(self.counters(done)["rail_share"][0] / 65536, first, delta=0.1)
        self.assertEqual(runs, [runs[0]] * 3)


if __name__ == "__main__":
    unittest.main()
