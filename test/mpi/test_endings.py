#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs end while rails are down: as they should, by an abort in the middle of a call, or by an error that is fatal. That
takes no longer than it has to, and nothing is left running."""

import os
import signal
import time
import unittest

from fault_case import BYTES, NODES, FaultCase
from mpi_case import program
from nezha_lab import openmpi


class Ending(FaultCase):
    def ends_soon(self, job, name):
        """And badly; returns what it said."""
        output = openmpi.output(job.communicate(timeout=60)[0])
        self.assertNotEqual(job.returncode, 0, output[-3000:])
        deadline = time.monotonic() + 10
        while self.lab.pids(program=name) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.lab.pids(program=name), [])
        return output


class Ends(Ending):
    def test_with_a_rail_down(self):
        self.survives([(0.5, self.lab.cut, 1)], seconds=2)

    def test_with_a_silent_rail(self):
        """Silent so shortly before that nobody knows it yet."""
        self.survives([(1.97, self.lab.silence, 0)], seconds=2)

    def test_killed_in_the_middle(self):
        """Of a call, with one rail silent."""
        job = self.start(program("survives"), 30, 8 * BYTES, coll_nezha_algorithm="ring")
        self.await_line(job, "rails carry")
        self.lab.silence(1)
        os.kill(self.lab.pids(1, "survives")[0].pid, signal.SIGABRT)
        self.ends_soon(job, "survives")

    def test_terminated_with_all_rails_down(self):
        job = self.start(program("survives"), 30, BYTES, coll_nezha_algorithm="ring")
        self.await_line(job, "rails carry")
        self.on_all_rails(self.lab.cut)
        time.sleep(0.5)
        job.terminate()
        self.ends_soon(job, "survives")


class Aborts(Ending):
    def aborts(self, how):
        """Rank 1, while the others wait for it in a call, with one rail silent; returns what the job said."""
        job = self.start(program("aborts"), how, coll_nezha_algorithm="ring")
        self.await_line(job, "calls go over rails", NODES)
        self.lab.silence(1)
        os.kill(self.lab.pids(1, "aborts")[0].pid, signal.SIGUSR1)
        output = self.ends_soon(job, "aborts")
        for crash in ("Segmentation fault", "Aborted (", "exited on signal 11", "exited on signal 6", "terminate called"):
            self.assertNotIn(crash, output)
        if openmpi.major() < 5:
            self.assertEqual(job.returncode, 7, output[-3000:])
        return output

    def test_by_mpi_abort(self):
        self.assertRegex(self.aborts("abort"), r"MPI_ABORT was (invoked|called).* 1\b")

    def test_by_exit(self):
        """Without MPI_Finalize: threads of ours still run while the process ends."""
        self.aborts("exit")


class Errors(Ending):
    def test_that_is_fatal(self):
        """As errors are unless the program says otherwise."""
        job = self.start(program("aborts"), coll_nezha_timeout=1)
        self.await_line(job, "calls go over rails", NODES)
        self.on_all_rails(self.lab.cut)
        output = self.ends_soon(job, "aborts")
        self.assertIn("no sign of life from rank", output)
        self.assertIn("MPI_ERRORS_ARE_FATAL", output)

    def goes_on(self, *arguments):
        # No trials: a rank that is in Open MPI's own allreduce when the others give up waits there for ever.
        job = self.start(program("goes_on"), *arguments, coll_nezha_timeout=1, coll_nezha_learn=0)
        self.await_line(job, "calls go over rails", NODES)
        self.on_all_rails(self.lab.cut)
        return job

    def passes(self, job):
        self.await_line(job, "passed")
        self.assertEqual(job.wait(60), 0)

    def test_after_which_it_ends_without_rails(self):
        self.passes(self.goes_on())

    def test_after_which_rails_come_back(self):
        job = self.goes_on("waits")
        self.await_line(job, "waits for rails", NODES)
        self.on_all_rails(self.lab.heal)
        self.passes(job)


if __name__ == "__main__":
    unittest.main()
