#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rails break while a job starts, while its first calls bring lanes up, and while some of its ranks are on their way out of
MPI: calls are right in all of these, and rails take over with what is left. test_faults.py has what lies in between."""

import os
import tempfile
import time
import unittest

from fault_case import RAILS, FaultCase
from mpi_case import program


class Phased(FaultCase):
    """A job that waits at the beginning of each phase until go()."""

    def begin(self, **params):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.job = self.start(program("phases"), self.folder.name, **params)
        self.reach("init")

    def reach(self, phase):
        self.await_line(self.job, f"before {phase}", self.nodes)

    def go(self, phase):
        with open(os.path.join(self.folder.name, phase), "w", encoding="ascii"):
            pass

    def ends_well(self, ranks=None):
        self.await_line(self.job, "has done its last call, all are right", ranks or self.nodes)
        self.assertEqual(self.job.wait(60), 0)


class Start(Phased):
    def loses(self, phase, fault, undo, *rails):
        """Just when `phase` begins. With one rail left the job gets on without it."""
        some_left = len(rails) < RAILS
        with self.subTest(phase=phase, fault=fault.__name__, rails=rails):
            self.begin(coll_nezha_connect_timeout=1 if some_left else 60)
            if phase == "first":
                self.go("init")
                self.reach("first")
            self.go(phase)
            for rail in rails:
                fault(rail)
            self.go("first")
            if some_left:
                self.reach("last")
            else:
                time.sleep(1.5)
            for rail in rails:
                undo(rail)
            if not some_left:
                self.reach("last")
            self.go("last")
            self.ends_well()

    def test_each_rail_in_turn(self):
        self.loses("init", self.lab.cut, self.lab.heal, 0)
        self.loses("init", self.lab.silence, self.lab.speak, 1)
        self.loses("first", self.lab.silence, self.lab.speak, 0)
        self.loses("first", self.lab.cut, self.lab.heal, 1)

    def test_all_rails(self):
        """Calls run on Open MPI's own allreduce until they are back."""
        self.loses("init", self.lab.silence, self.lab.speak, *range(RAILS))
        self.loses("first", self.lab.silence, self.lab.speak, *range(RAILS))


class End(Phased):
    nodes = 2

    def test_who_is_done_sends_again_what_was_lost(self):
        """Rank 0 has what it needs and ends; what it has sent is lost on one rail, and only the other one comes back. The
        rail that carried it is not known here, so both are tried."""
        for back in range(RAILS):
            with self.subTest(back=back):
                self.begin(coll_nezha_timeout=20, coll_nezha_algorithm="doubling")
                self.go("init")
                self.go("first")
                self.reach("last")
                self.on_all_rails(self.lab.halfopen, 0, 1)
                self.go("last")
                self.await_line(self.job, "rank 0 has done its last call, all are right")
                self.lab.healopen(back, 0, 1)
                self.ends_well(1)
                self.lab.healopen(1 - back, 0, 1)


if __name__ == "__main__":
    unittest.main()
