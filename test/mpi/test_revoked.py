#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Programs that go on after errors: one rank revokes a communicator while the others are in a call of it."""

import unittest

from mpi_case import RAILS, mpirun, program
from nezha_lab import openmpi

MEMORY = {"coll_nezha_learn": "0"}  # that of the node carries all


class Revoked(unittest.TestCase):
    def passes(self, *arguments):
        if openmpi.major() < 5:
            self.assertEqual(mpirun([program("revoked")], 1).returncode, 77)  # it revokes nothing
            return
        for name, params, env in (("rails", RAILS, {}), ("memory", MEMORY, {"NEZHA_COUNTS_MEMORY": "1"})):
            with self.subTest(name):
                done = mpirun([*openmpi.outlives_ranks(), program("revoked"), *arguments], 4, timeout=60, env=env,
                              params={**params, "coll_nezha_timeout": "120", "coll_nezha_report": "1"})
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stdout + done.stderr)
                self.assertNotIn("cannot be completed", done.stderr)  # it is the program's own doing
                self.assertIn("Of rank 0 alone", done.stderr)  # another may be dead, and a call of MPI_COMM_WORLD end the program

    def test_blocking_call_ends(self):
        self.passes()

    def test_request_ends(self):
        self.passes("requests")


if __name__ == "__main__":
    unittest.main()
