#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rails break while the system refuses what it takes to bring them back, and other jobs are in the way."""

import time
import unittest

from fault_case import BYTES, FaultCase
from mpi_case import RAILS, MpiCase, mpirun, program


class Refused(FaultCase):
    """In the middle third of six seconds."""

    def test_descriptors(self):
        """No connection can be made; that is done when there are descriptors again."""
        before = self.lab.nic_bytes(1, 1).received
        late = []
        faults = [(2.3, self.lab.cut, 1), (3, self.lab.heal, 1),
                  (5, lambda: late.append(self.lab.nic_bytes(1, 1).received))]
        self.survives(faults, seconds=6, more=[0, "descriptors"])
        self.assertGreater(late[0], before)
        self.assertGreater(self.lab.nic_bytes(1, 1).received - late[0], BYTES)

    def test_memory(self):
        """It goes on with what it has, or ends and says why; it does not hang."""
        job = self.start(program("survives"), 6, BYTES, 0, "memory", coll_nezha_algorithm="ring")
        self.await_line(job, "rails carry")
        for fault in (lambda: None, self.lab.silence, self.lab.speak, self.lab.cut, self.lab.heal):
            time.sleep(0.7)
            if fault.__name__ != "<lambda>":
                fault(1)
        output = job.communicate(timeout=60)[0]
        self.assertTrue("passed" in output.splitlines() or "the system gives no memory" in output, output[-3000:])

    def test_signals(self):
        """Connections come and go under a thousand signals a second."""
        faults = [(2.2, self.lab.cut, 1), (2.5, self.lab.heal, 1), (2.9, self.lab.silence, 0), (3.7, self.lab.speak, 0)]
        self.survives(faults, seconds=6, more=[0, "signals"])

    def test_children(self):
        """A child born while a lane is down holds no socket that would keep it half alive."""
        faults = [(2.2, self.lab.cut, 1), (2.5, self.lab.heal, 1), (2.9, self.lab.silence, 0), (3.7, self.lab.speak, 0)]
        self.survives(faults, seconds=6, more=[0, "forks"])


class FewDescriptors(MpiCase):
    def test_open_mpi_has_what_is_there(self):
        """It ends a job in which it cannot connect: lanes are not to be what takes the last descriptors."""
        few = self.wrapper("ulimit -n 120")
        params = {**RAILS, "btl": "tcp,self", "btl_tcp_if_include": "lo"}  # 5.0 does not always find the host's own address
        done = self.says(r"may not open as many files.*Connections: 30",
                         lambda: mpirun([few, program("counters"), "4"], 16, params))
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stdout + done.stderr)
        self.nothing_carried(done)


class OthersOnThePorts(FaultCase):
    def test_two_jobs_on_the_same_few_ports(self):
        """Each rank takes what is free; a process of the other job that is met by mistake is refused."""
        jobs = [self.start(program("survives"), 3, BYTES, coll_nezha_algorithm="ring", coll_nezha_port_range="28100-28101")
                for _ in range(2)]
        for job in jobs:
            output = job.communicate(timeout=90)[0]
            self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])


if __name__ == "__main__":
    unittest.main()
