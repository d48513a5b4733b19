#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""Nothing is wrong with the rails, only with what is at their ends: no lane is closed and no rail reported lost. That a lane
is suspected for a while is no alarm."""

import os
import signal
import subprocess
import sys
import unittest

from fault_case import BYTES, FaultCase
from mpi_case import LONG

BURNER = [sys.executable, "-c", "while True: pass"]


class FalseAlarms(FaultCase):
    def no_alarm(self, faults, **options):
        output = self.survives(faults, **options)
        for alarm in ("is lost", "no sign of life", "no answer from the other side", "has failed"):
            self.assertNotIn(alarm, output)


class Load(FalseAlarms):
    nodes, rates = 8, ["200mbit"] * 2

    def test_more_ranks_than_cores(self):
        """And programs beside them that want all there is."""
        burners = [subprocess.Popen(BURNER) for _ in range(2 * (os.cpu_count() or 1))]
        for burner in burners:
            self.addCleanup(burner.wait)
            self.addCleanup(burner.kill)
        self.no_alarm([], seconds=6)


class SlowRail(FalseAlarms):
    rates = ["1gbit", "5mbit"]

    def test_its_queue_is_full(self):
        self.no_alarm([], seconds=4)


class Pauses(FalseAlarms):
    def test_each_process_is_stopped_in_turn(self):
        def send(number, rank):
            os.kill(self.lab.pids(rank, "survives")[0].pid, number)
        faults = [(when + 3.2 * rank, send, number, rank) for rank in range(self.nodes)
                  for when, number in ((0.3, signal.SIGSTOP), (3.3, signal.SIGCONT))]
        self.no_alarm(faults, seconds=11)

    def test_the_application_computes(self):
        pause = 60 if LONG else 3
        self.no_alarm([], seconds=2 * pause + 1, more=[1000 * pause])

    def test_small_calls_now_and_then(self):
        self.no_alarm([], seconds=3, size=4096, more=[100])


class Machine(FalseAlarms):
    """What the system may do to a process, in the middle third of the time."""

    def test_a_thousand_signals_a_second(self):
        self.no_alarm([], more=[0, "signals"])

    def test_children_between_calls(self):
        self.no_alarm([], more=[0, "forks"])

    def test_vectors_of_many_pieces_beside_signals(self):
        self.no_alarm([], size=8 * BYTES, more=[0, "signals"])


if __name__ == "__main__":
    unittest.main()
