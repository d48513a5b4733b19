#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Rails over Open MPI's own byte transfer layers on the emulated cluster: alone, two of them, and beside a rail of Nezha's own TCP."""

import subprocess
import unittest

from fault_case import FaultCase, report_rows
from mpi_case import RAILS, mpirun, program
from nezha_lab import openmpi


class BtlCase(FaultCase):
    def carried(self, rails, name, *arguments, **params):
        """{rail: frames that rank 0 sent over it} of a job that passed, and its output."""
        params = {"coll_nezha_btl": 2, "coll_nezha_rail_include": rails, "coll_nezha_report": 1, "coll_nezha_learn": 0, **params}
        job = self.start(program(name), *arguments, **params)
        output = openmpi.output(job.communicate(timeout=120)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])
        return {rail: int(row[5]) for rail, row in report_rows(output, "rank 0").items()}, output


class Messages(unittest.TestCase):
    def test_those_that_a_layer_refuses_and_those_that_come_at_the_end(self):
        done = subprocess.run([program("host_btl")], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Rails(BtlCase):
    def test_one(self):
        frames, output = self.carried("btl/0", "survives", 1, 1 << 18)
        self.assertEqual(list(frames), ["btl/0"], output[-3000:])
        self.assertGreater(frames["btl/0"], 10)

    def test_beside_tcp(self):
        frames, output = self.carried("tcp/eth0,btl/0", "survives", 2, 2 << 20)
        self.assertEqual(sorted(frames), ["btl/0", "tcp/eth0"], output[-3000:])
        for rail, sent in frames.items():
            self.assertGreater(sent, 0, f"{rail}\n{output[-3000:]}")

    def test_a_module_that_is_not_there(self):
        """The one that is carries; why the other does not is in the log."""
        _, output = self.carried("tcp/eth0,btl/1", "survives", 1, 1 << 16, coll_nezha_verbose=3)
        self.assertIn("no byte transfer layer", output)


class TwoRanksOnEachNode(BtlCase):
    nodes, ppn = 2, 2

    def test_without_any_other_rail(self):
        """Ranks of one node then meet in Open MPI's shared memory."""
        frames, output = self.carried("btl/0", "survives", 1, 1 << 18, coll_nezha_shared_memory=0)
        self.assertGreater(frames["btl/0"], 10, output[-3000:])


# How else Open MPI may send; which of these there are depends on how it was built.
OTHERS = {"pml": "cm", "mtl": "ofi"}, {"pml": "ucx"}


class WithoutOb1(unittest.TestCase):
    def test_other_rails_carry(self):
        """Open MPI sends by no byte transfer layer then."""
        command = [program("counters"), "40"]
        found = [other for other in OTHERS if mpirun(command, 2, params=other, component=False).returncode == 0][:1]
        self.assertTrue(found or openmpi.major() >= 5, "this Open MPI has no other way to send")
        for other in found:
            done = mpirun(command, 2, params={**RAILS, **other, "coll_nezha_btl": "1", "coll_nezha_verbose": "3"})
            self.assertIn("passed", done.stdout.splitlines(), done.stderr[-2000:])
            self.assertIn("no byte transfer layer", done.stderr)


if __name__ == "__main__":
    unittest.main()
