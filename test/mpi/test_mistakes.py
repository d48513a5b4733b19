#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Programs whose ranks call with different counts or types get an error on every rank, never a hang."""

import unittest

from mpi_case import RAILS, SAME_ORDER, MpiCase, mpirun, program


# For ranks alone, since 4.1's mpirun reads what it has freed.
OVERWRITE_WHAT_IS_FREED = "export GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=85"


class Mistakes(MpiCase):
    def test_counts_and_types_that_differ(self):
        for np in (2, 3):
            with self.subTest(np):
                done = mpirun([self.wrapper(OVERWRITE_WHAT_IS_FREED), program("differing_counts")], np,
                              params={**RAILS, **SAME_ORDER})
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stdout + done.stderr[-2000:])

    def test_each_algorithm(self):
        for algorithm in ("ring", "mesh", "halving"):
            with self.subTest(algorithm):
                self.passes("differing_counts", 3, params={**RAILS, **SAME_ORDER, "coll_nezha_algorithm": algorithm})

    def test_errors_that_are_fatal_end_the_job(self):
        """Also where learning leaves the call of one rank to Open MPI, in which it would wait for ever."""
        for mistake in (0, 4, 5, 6):
            with self.subTest(mistake):
                done = mpirun([program("differing_counts"), str(mistake)], 2,
                              params={"coll_nezha_single_node": "2", **SAME_ORDER})
                self.assertNotEqual(done.returncode, 0)

    def test_the_text_names_ranks_and_sizes(self):
        self.says(r"Reason: counts or types differ between ranks: this rank on \S+ has a vector of (4 bytes, rank . on \S+ has "
                  r"one of 8|8 bytes, rank . on \S+ has one of 4) bytes",
                  lambda: mpirun([program("differing_counts")], 2, params={**RAILS, **SAME_ORDER}))


if __name__ == "__main__":
    unittest.main()
