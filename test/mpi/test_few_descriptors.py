#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""With hardly more open files than Open MPI needs, a job ends as it does without the component, and a text tells why."""

import unittest

from mpi_case import MpiCase, mpirun, program

RANKS = 4
# From a few that Open MPI alone can do with, to where rails open and no team fits.
LIMITS = (20, 22, 23, 24, 26, 28, 32, 80)
TEXT = "may not open as many files as connections to all ranks and Open MPI's own need"
_LONGEST = 60  # seconds


class FewDescriptors(MpiCase):
    def run_with(self, limit, component=True):
        command = [self.wrapper(f"ulimit -n {limit}"), program("counters"), "4", "1"]
        return mpirun(command, RANKS, component=component, timeout=_LONGEST)

    def test_declines_wherever_open_mpi_runs(self):
        for limit in LIMITS:
            with self.subTest(limit=limit):
                if self.run_with(limit, component=False).returncode != 0:
                    continue
                done = self.says(TEXT, lambda limit=limit: self.run_with(limit))
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
                self.nothing_carried(done)

    def test_one_rank_with_few(self):
        """All others decline with it."""
        limited = self.wrapper("[ \"${PMIX_RANK:-$OMPI_COMM_WORLD_RANK}\" != 2 ] || ulimit -n 24")
        done = self.says(TEXT, lambda: mpirun([limited, program("counters"), "4", "1"], RANKS, timeout=_LONGEST))
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        self.nothing_carried(done)


if __name__ == "__main__":
    unittest.main()
