#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
# sanitizers: address undefined thread
"""Communicators of all kinds, threads, children of fork(), and Open MPI's own progress while a call waits."""

import os
import subprocess
import unittest

from mpi_case import RAILS, MpiCase, environment, mpirun, preloaded, program
from nezha_lab import openmpi


class Communicators(MpiCase):
    def test_dup_split_overlap_and_many(self):
        for np in (2, 3, 5, 7):
            with self.subTest(np):
                self.passes("communicators", np)

    def test_idup(self):
        self.passes("idup", 3, timeout=60)
        self.passes("idup", 4, params={**RAILS, "coll_nezha_collectives": "all"}, timeout=60)

    def test_idup_where_a_rank_reduces_by_mpi(self):
        self.passes("idup", 3, preload=[preloaded("odd_reduce_local")], timeout=60)

    def test_threads(self):
        for np in (2, 3):
            with self.subTest(np):
                self.passes("threads", np)

    def test_fork(self):
        self.passes("forked", 3)

    def test_progress_while_waiting(self):
        # By TCP, where the sender has a part: over shared memory the receiver may fetch the message by itself.
        self.passes("progress", 3, params={**RAILS, "pml": "ob1", "btl": "tcp,self",
                                             "btl_tcp_if_include": "lo"})

    def test_session(self):
        done = mpirun([program("sessions")], 3)
        if openmpi.major() < 5:
            self.assertEqual(done.returncode, 77)  # it has no sessions
            return
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stdout + done.stderr)

    def test_one_node_is_left_alone(self):
        done = self.passes("counters", 3, "20", params={})
        self.nothing_carried(done)

    def test_one_rank(self):
        self.nothing_carried(self.passes("counters", 1, "20"))

    @unittest.skipIf(os.environ.get("NEZHA_PRELOAD"), "mpirun does the preloading")
    def test_without_mpirun(self):
        done = subprocess.run([program("counters"), "5"], capture_output=True, text=True, timeout=60,
                              env=environment(RAILS, True), check=False)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        self.nothing_carried(done)


if __name__ == "__main__":
    unittest.main()
