#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Results at the ends of a type's range do not change when rails and Open MPI's own allreduce take turns."""

import unittest

from mpi_case import EVERY_ALGORITHM, LONG, RAILS, MpiCase, mpirun, program

ALGORITHMS = EVERY_ALGORITHM if LONG else ("ring", "doubling", "halving")
# A communicator's first rank says what carries its calls: the program has one communicator beginning with each.
TURNS = "[ \"$PMIX_RANK\" != 1 ] || export OMPI_MCA_coll_nezha_algorithm=incumbent"


class Extremes(MpiCase):
    def same_bits(self, algorithm, *arguments):
        done = mpirun([self.wrapper(TURNS), program("extremes"), *arguments], 2,
                      params={**RAILS, "coll_nezha_algorithm": algorithm})
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(),
                        f"{algorithm}, status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")

    def test_each_algorithm(self):
        for algorithm in ALGORITHMS:
            with self.subTest(algorithm):
                self.same_bits(algorithm)

    def test_not_a_number(self):
        """Single elements: rank 0's is the left operand everywhere but in halving."""
        for algorithm in ALGORITHMS[:-1]:
            with self.subTest(algorithm):
                self.same_bits(algorithm, "ordered")


if __name__ == "__main__":
    unittest.main()
