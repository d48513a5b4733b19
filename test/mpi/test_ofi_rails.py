#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rails of libfabric on the emulated cluster, by its provider for TCP, with connected endpoints and with others: alone, and beside
a rail of Nezha's own TCP; with rails that break. libfabric tells of no lost carrier and of no silence, so that the engine's own
deadlines find out."""

import ctypes
import os
import signal
import unittest

from fault_case import NODES, FaultCase, report_rows
from mpi_case import LONG, RAILS, mpirun, program

OFI = "ofi/eth0", "ofi/eth1"
RDM = "ofi/tcp;ofi_rxm:eth0", "ofi/tcp;ofi_rxm:eth1"
MIXED = "tcp/eth0", "ofi/eth1"
MIXED_RDM = "tcp/eth0", "ofi/tcp;ofi_rxm:eth1"
SENT, SHARE, SUSPECT, FAILOVER, BACK = -10, -4, -3, -2, -1  # columns of the report


def label(rail):
    """What it is called once it is found: with the provider."""
    return rail if ":" in rail else rail.replace("ofi/", "ofi/tcp:")


class OfiCase(FaultCase):
    own, mixed = OFI, MIXED
    longer = 0  # seconds that a rail may need to be back

    def setUp(self):
        try:
            ctypes.CDLL("libfabric.so.1")
        except OSError as reason:
            self.skipTest(str(reason))
        super().setUp()

    def over(self, rails, faults, seconds=4, **params):
        """The output of a job that has survived. Each of `rails` had a share, however small."""
        output = self.survives(faults, seconds=seconds + self.longer, coll_nezha_rail_include=",".join(rails), coll_nezha_report=1, **params)
        own = report_rows(output, "rank 0")
        self.assertEqual(sorted(own), sorted(map(label, rails)), output[-3000:])
        for rail, words in own.items():
            self.assertGreater(float(words[SENT]), 1, f"MiB sent by {rail}:\n{output[-3000:]}")
        self.most = report_rows(output, "most")
        return output

    def assert_failed_over(self, rail, output):
        """Its pieces went another way at least once, and it came back."""
        for column in (FAILOVER, BACK):
            self.assertGreater(int(self.most[label(rail)][column]), 0, output[-3000:])


class Rails(OfiCase):
    def test_two(self):
        self.assertNotIn("is lost: no answer", self.over(self.own, [], seconds=1))

    def test_beside_tcp(self):
        self.over(self.mixed, [], seconds=1)


class Survives(OfiCase):
    def test_silence(self):
        """Of the one that is libfabric's: to TCP and back."""
        output = self.over(self.mixed, [(0.5, self.lab.silence, 1), (2, self.lab.speak, 1)])
        self.assertGreater(int(self.most[label(self.own[1])][SUSPECT]), 0, output[-3000:])
        self.assert_failed_over(self.own[1], output)

    def test_cable_of_tcp_pulled(self):
        """From TCP to libfabric and back."""
        output = self.over(self.mixed, [(0.5, self.lab.cut, 0, 1), (1.5, self.lab.heal, 0, 1)], seconds=3)
        self.assertIn("rail tcp/eth0 is lost: eth0 has no carrier", output)
        self.assert_failed_over("tcp/eth0", output)

    def test_cable_pulled(self):
        output = self.over(self.own, [(0.5, self.lab.cut, 1, 1), (2, self.lab.heal, 1, 1)])
        self.assert_failed_over(self.own[1], output)

    def test_interface_deleted(self):
        output = self.over(self.own, [(0.5, self.lab.unplug, 1, 2), (2, self.lab.plug, 1, 2)])
        self.assert_failed_over(self.own[1], output)


class AnyOfThree(OfiCase):
    rates = ["1gbit"] * 3

    def test_each_is_lost_in_turn_and_the_report_has_the_three_shares(self):
        """One job over TCP and two rails of libfabric."""
        rails = ("tcp/eth0", "ofi/eth1", "ofi/eth2")
        faults = [(0.5 + 3 * rail + away, fault, rail, 1) for rail in range(3) for away, fault in ((0, self.lab.cut), (1.5, self.lab.heal))]
        output = self.over(rails, faults, seconds=11)
        for rail in rails:
            self.assert_failed_over(rail, output)
        shares = [float(row[SHARE]) for row in report_rows(output, "rank 0").values()]
        self.assertAlmostEqual(sum(shares), 100, delta=1, msg=output[-3000:])


class SurvivesMore(OfiCase):
    def test_each_cable_pulled_in_turn(self):
        faults = [(0.5, self.lab.cut, 0, 1), (2, self.lab.heal, 0, 1), (4, self.lab.cut, 1, 2), (6, self.lab.heal, 1, 2)]
        output = self.over(self.own, faults, seconds=8)
        for rail in self.own:
            self.assert_failed_over(rail, output)

    def test_one_direction(self):
        output = self.over(self.own, [(0.5, self.lab.halfopen, 1, 0, 1), (3, self.lab.healopen, 1, 0, 1)], seconds=5)
        self.assertIn("is suspect: no answer for", output)

    def test_flapping(self):
        flaps = [(0.3 + 0.2 * i, self.lab.cut if i % 2 == 0 else self.lab.heal, 1, 0) for i in range(16)]
        self.over(self.mixed, flaps, seconds=5)

    def test_all_rails_away_for_a_while(self):
        faults = [(0.5, self.lab.cut, 0), (0.5, self.lab.cut, 1), (2.5, self.lab.heal, 0), (3, self.lab.heal, 1)]
        self.over(self.own, faults, seconds=6)

    def test_rate_to_a_crawl(self):
        output = self.over(self.own, [(0.5, self.lab.rate, 1, "2mbit"), (4, self.lab.rate, 1, "1gbit")], seconds=6)
        self.assertNotIn("no answer from the other side", output)

    def test_process_stopped_for_a_while(self):
        """A process answers by libfabric, a kernel by TCP: that the one stands still is no reason to close its lanes."""
        def send(job_signal):
            os.kill(self.lab.pids(1, "survives")[0].pid, job_signal)
        for rails in (self.own, self.mixed):
            output = self.over(rails, [(0.5, send, signal.SIGSTOP), (4, send, signal.SIGCONT)], seconds=5)
            self.assertNotIn("no answer from the other side", output)


class TwoRanksOnEachNode(OfiCase):
    nodes, ppn = 2, 2

    def test_silence(self):
        self.over(self.mixed, [(0.5, self.lab.silence, 1), (2.5, self.lab.speak, 1)])


class Errors(OfiCase):
    def fails(self, fault, ranks):
        job = self.start(program("until_error"), coll_nezha_timeout=2, coll_nezha_learn=0, coll_nezha_rail_include=",".join(self.own))
        self.await_line(job, "calls go over rails", NODES)
        fault()
        said = [line for line in self.await_line(job, "an error after", ranks) if "an error after" in line]
        self.assertTrue(all("as it should be" in line for line in said), "".join(said))

    def test_no_rail_is_left(self):
        self.fails(lambda: self.on_all_rails(self.lab.cut), NODES)

    def test_process_stopped(self):
        self.fails(lambda: os.kill(self.lab.pids(1, "until_error")[0].pid, signal.SIGSTOP), NODES - 1)


class Unconnected:
    """By endpoints that all peers share, as EFA, Slingshot and Omni-Path have them. Behind these, libfabric has one connection of TCP
    to each peer, which a new lane does not replace: after an outage it comes back when TCP tries again, and the lane with it."""

    own, mixed, longer = RDM, MIXED_RDM, 4

    def assert_failed_over(self, rail, output):
        self.assertGreater(int(self.most[label(rail)][FAILOVER]), 0, output[-3000:])
        again = [line for line in output.splitlines() if label(rail) in line and "answers again" in line]
        self.assertTrue(again or int(self.most[label(rail)][BACK]), output[-3000:])


class WithoutConnections(Unconnected, OfiCase):
    def test_two(self):
        self.assertNotIn("is lost: no answer", self.over(self.own, [], seconds=1))

    def test_cable_pulled(self):
        output = self.over(self.mixed, [(0.5, self.lab.cut, 1, 1), (2, self.lab.heal, 1, 1)])
        self.assert_failed_over(self.own[1], output)

    def test_without_descriptors(self):
        """A provider that wakes nobody."""
        self.over(["tcp/eth0", "ofi/udp;ofi_rxd:eth1"], [], seconds=1)


class WithoutConnectionsOnOneNode(unittest.TestCase):
    def test_shared_memory(self):
        """A provider of libfabric whose addresses are texts, and which wakes nobody."""
        params = {**RAILS, "coll_nezha_shared_memory": "0", "coll_nezha_rail_include": "ofi/shm:shm", "coll_nezha_verbose": "2"}
        done = mpirun([program("survives"), "1", str(1 << 18)], 3, params=params)
        if "nezha: rail ofi/shm:shm" not in done.stderr:
            self.skipTest("this libfabric has no shm")
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stdout[-2000:] + done.stderr[-2000:])


class WithoutConnectionsSurvives(Unconnected, Survives):
    pass


class WithoutConnectionsSurvivesMore(Unconnected, SurvivesMore):
    pass


class WithoutConnectionsErrors(Unconnected, Errors):
    pass


if not LONG:  # minutes
    del SurvivesMore, TwoRanksOnEachNode, Errors
    del WithoutConnectionsSurvives, WithoutConnectionsSurvivesMore, WithoutConnectionsErrors


if __name__ == "__main__":
    unittest.main()
