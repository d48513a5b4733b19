#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rails break under a running mpirun on the emulated cluster, each kind of fault; results have the bits that they had
before. Open MPI's own traffic is on the management network, since it survives nothing."""

import os
import re
import signal
import tempfile
import unittest

from fault_case import NODES, FaultCase
from mpi_case import LONG, program
from nezha_command import trace_file
from nezha_lab import openmpi


class Survives(FaultCase):
    def test_cable_pulled(self):
        """Of each rail in turn, on one node; the kernel tells, nobody has to wait for silence."""
        faults = [(0.3, self.lab.cut, 0, 1), (1.3, self.lab.heal, 0, 1), (2.3, self.lab.cut, 1, 2), (3.3, self.lab.heal, 1, 2)]
        output = self.survives(faults, seconds=6)
        for rail in (0, 1):
            self.assertIn(f"rail tcp/eth{rail} is lost: eth{rail} has no carrier", output)
            self.assertIn(f"rail tcp/eth{rail} is back", output)
        self.assertIn("the other side has closed it", output)

    def datagrams(self, node):
        """Sent from that node over IPv4 so far."""
        shown = self.lab.exec(node, ["cat", "/proc/net/snmp"], check=True, capture_output=True, text=True).stdout
        names, values = [line.split() for line in shown.splitlines() if line.startswith("Udp:")]
        return int(values[names.index("OutDatagrams")])

    def test_a_rail_that_is_back_is_announced(self):
        """Else neighbours that have asked for it in vain do so again after a second only."""
        before = [self.datagrams(node) for node in range(NODES)]
        self.survives([(0.3, self.lab.cut, 1, 1), (1, self.lab.heal, 1, 1)], seconds=3)
        for node, old in enumerate(before):  # the others answer
            self.assertGreater(self.datagrams(node), old)

    def test_silent_loss(self):
        """The log, the report and the trace tell of it."""
        trace = tempfile.NamedTemporaryFile(suffix=".trace")
        self.addCleanup(trace.close)
        output = self.survives([(0.5, self.lab.silence, 1), (2.5, self.lab.speak, 1)], seconds=5, coll_nezha_report=1,
                               coll_nezha_trace=trace.name)
        self.assertIn("is suspect: no answer for", output)
        self.assertIn("is lost: no answer from the other side", output)
        lines = output.splitlines()
        rows = lines[next(i for i, line in enumerate(lines) if line.split()[:2] == ["tcp/eth1", "rank"]):]
        most = next(row.split() for row in rows if row.split()[:1] == ["most"])
        self.assertTrue(all(int(count) > 0 for count in most[-3:]), f"suspect, failover, back: {most[-3:]}")
        events = [event for event in trace_file.read(trace.name).events if "eth1" in event.lane]
        # Another rank may be the first to give a lane up, and tells rank 0, whose trace it is.
        for wanted, why in (("suspect", "no answer for"), ("lost", "no answer from the other side|the other side has closed it"),
                            ("up", "")):
            self.assertTrue(any(event.event == wanted and re.search(why, event.why) for event in events), f"{wanted}: {events}")

    def test_short_silence_is_forgiven(self):
        """Several: a busy machine may lengthen one until the lane is given up."""
        faults = [(0.5 + start + late, fault, 1) for start in (0, 0.8, 1.6, 2.4)
                  for late, fault in ((0, self.lab.silence), (0.15, self.lab.speak))]
        self.assertIn("answers again", self.survives(faults, seconds=4))

    def test_one_direction(self):
        output = self.survives([(0.5, self.lab.halfopen, 1, 0, 1), (3, self.lab.healopen, 1, 0, 1)], seconds=4)
        self.assertIn("is suspect: no answer for", output)

    def test_rate_to_a_crawl(self):
        output = self.survives([(0.5, self.lab.rate, 1, "2mbit"), (4, self.lab.rate, 1, "1gbit")], seconds=5)
        self.assertNotIn("no answer from the other side", output)

    def test_flapping(self):
        flaps = [(0.3 + 0.2 * i, self.lab.cut if i % 2 == 0 else self.lab.heal, 1, 0) for i in range(16)]
        self.survives(flaps, seconds=5)

    def test_interface_deleted(self):
        output = self.survives([(0.5, self.lab.unplug, 1, 2), (2, self.lab.plug, 1, 2)], seconds=4)
        self.assertRegex(output, "rail tcp/eth1 is lost: eth1 is (gone|down)")
        self.assertIn("rail tcp/eth1 is back", output)

    def test_both_rails_away_for_a_while(self):
        faults = [(0.5, self.lab.cut, 0), (0.5, self.lab.cut, 1), (2.5, self.lab.heal, 0), (3, self.lab.heal, 1)]
        self.survives(faults, seconds=4)

    def test_process_stopped_for_a_while(self):
        def send(job_signal):
            os.kill(self.lab.pids(1, "survives")[0].pid, job_signal)
        output = self.survives([(0.5, send, signal.SIGSTOP), (3.5, send, signal.SIGCONT)], seconds=5)
        self.assertNotIn("no answer from the other side", output)


class TwoRanksThatShareMemory(FaultCase):
    """The first rail of one node fails for good: its two ranks need no rail to reach each other, be it in memory that they
    share or over the node's loopback."""

    nodes, ppn = 2, 2
    shared_memory = 1

    def loses(self, fault, *arguments):
        output = self.survives([(0.3, fault, *arguments)], seconds=2, coll_nezha_timeout=5,
                               coll_nezha_shared_memory=self.shared_memory)
        self.assertEqual("adds up on its nodes first" in self.before, bool(self.shared_memory))
        self.assertNotRegex(output, "lane tcp/lo - tcp/lo to rank . on n. is (lost|left out)")
        return output

    def test_cable_pulled(self):
        self.assertIn("rail tcp/eth0 is lost: eth0 has no carrier", self.loses(self.lab.cut, 0, 1))

    def test_silent_loss(self):
        self.assertIn("is suspect: no answer for", self.loses(self.lab.silence, 0, 1))

    def test_interface_deleted(self):
        self.assertRegex(self.loses(self.lab.unplug, 0, 1), "rail tcp/eth0 is lost: eth0 is (gone|down)")

    def test_address_removed(self):
        output = self.loses(self.lab.exec, 1, ["ip", "addr", "flush", "dev", "eth0"])
        self.assertIn("rail tcp/eth0 is lost: eth0 has lost its address", output)

    def test_renamed(self):
        rename = "ip link set eth0 down && ip link set eth0 name other && ip link set other up"
        self.assertIn("its interface is called other now", self.loses(self.lab.exec, 1, ["sh", "-c", rename]))

    def test_loopback_refuses(self):
        """Then the ranks of a node have lanes on all its rails, and no single one is needed."""
        ports = "20000-20099"
        for node in range(self.nodes):
            for rule in ("add table ip refuse", "add chain ip refuse in { type filter hook input priority 0 ; }",
                         f"add rule ip refuse in ip daddr 127.0.0.1 tcp dport {ports} reject with tcp reset"):
                self.lab.exec(node, ["nft", rule], check=True)
        output = self.survives([(0.3, self.lab.cut, 0, 1)], seconds=2, coll_nezha_timeout=5, coll_nezha_port_range=ports,
                               coll_nezha_shared_memory=self.shared_memory)
        self.assertRegex(output, "lane tcp/eth0 - tcp/eth0 to rank [23] on n1 is lost: lane .* eth0 has no carrier")


if LONG:

    class TwoRanksOnEachNode(TwoRanksThatShareMemory):
        shared_memory = 0


class Errors(FaultCase):
    def fails(self, fault, ranks, *before):
        """After `fault` every one of `ranks` gets an error, and its later calls too; the output. Without learning, which would try
        Open MPI's own allreduce just then: that one waits for ever."""
        job = self.start(program("until_error"), before=before, coll_nezha_timeout=2, coll_nezha_learn=0)
        self.await_line(job, "calls go over rails", self.nodes * self.ppn)
        fault()
        lines = self.await_line(job, "an error after", ranks)
        said = [line for line in lines if "an error after" in line]
        self.assertTrue(all("as it should be" in line for line in said), "".join(lines[-30:]))
        return " ".join("".join(lines).split())

    def test_no_rail_is_left(self):
        output = self.fails(lambda: self.on_all_rails(self.lab.cut), NODES)
        last = "eth. has no carrier"  # retries know it too
        self.assertRegex(output, r"no sign of life from rank . on n. on any rail for coll_nezha_timeout = 2 s, seen from n. "
                         rf"\(tcp/eth0 - tcp/eth0: [^;]*{last}; tcp/eth1 - tcp/eth1: [^;]*{last}\)")

    def test_silence_on_all_rails_of_one_node(self):
        """The others are told by who gives up first; the silent node comes to it by itself."""
        self.fails(lambda: self.on_all_rails(self.lab.silence, 1), NODES)

    def test_process_stopped(self):
        output = self.fails(lambda: os.kill(self.lab.pids(1, "until_error")[0].pid, signal.SIGSTOP), NODES - 1)
        self.assertRegex(output, "no sign of life from rank 1 on n1")

    def test_process_killed(self):
        output = self.fails(lambda: os.kill(self.lab.pids(1, "until_error")[0].pid, signal.SIGKILL), NODES - 1,
                            *openmpi.outlives_ranks())
        if openmpi.major() >= 5:  # whose runtime knows of the death, and hears of it before the rails give up
            self.assertIn("MPI_ERR_PROC_FAILED", output)
        self.assertRegex(output, "no sign of life from rank 1 on n1|rank 1 on n1 has died")


class ErrorsOfRanksThatShareMemory(Errors):
    """One rank of a node fails: the other one of that node, and those elsewhere, hear of it."""

    nodes, ppn = 2, 2

    def fails(self, fault, ranks, *before):
        return super().fails(fault, self.nodes * self.ppn - (NODES - ranks), *before)

    def test_process_killed(self):
        output = self.fails(lambda: os.kill(self.lab.pids(1, "until_error")[0].pid, signal.SIGKILL), NODES - 1,
                            *openmpi.outlives_ranks())
        self.assertRegex(output, "rank [23] on n1")

    def test_process_stopped(self):
        output = self.fails(lambda: os.kill(self.lab.pids(1, "until_error")[0].pid, signal.SIGSTOP), NODES - 1)
        self.assertRegex(output, "no sign of life from rank [23] on n1")


if __name__ == "__main__":
    unittest.main()
