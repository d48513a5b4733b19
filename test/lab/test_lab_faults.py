# SPDX-License-Identifier: BSD-3-Clause
"""Each fault verb has its effect on real traffic, on the ports it names and on no others, and can be undone."""

import json
import subprocess
import time
import unittest

from lab_case import DATAGRAMS, TRAFFIC, Listener, address, delivered, eventually, make_lab
from nezha_lab import LabError


def carrier(lab, node, rail):
    """As a program in the node sees it; None when there is no such interface."""
    done = lab.exec(node, ["cat", f"/sys/class/net/eth{rail}/carrier"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


class FaultCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = make_lab(cls, nodes=3, rails=["none", "none"], ipv6=True)

    def arrives(self, source, target, rail, ipv6=False):
        self.assertEqual(delivered(self.lab, source, target, rail, ipv6), DATAGRAMS)

    def is_lost(self, source, target, rail, ipv6=False):
        self.assertEqual(delivered(self.lab, source, target, rail, ipv6), 0)

    def returns(self, source, target, rail, ipv6=False):
        """After a fault the kernel may ask for the neighbour's address again before it sends."""
        self.assertTrue(eventually(lambda: delivered(self.lab, source, target, rail, ipv6) == DATAGRAMS))

    def state(self, node, rail):
        return next(row[4] for row in self.lab.status() if row[:2] == (f"n{node}", f"eth{rail}"))


class Cut(FaultCase):
    def test_one_port(self):
        self.arrives(0, 1, 1)
        self.lab.cut(1, node=1)
        self.addCleanup(self.lab.heal, 1)
        self.assertEqual(carrier(self.lab, 1, 1), "0")
        self.assertEqual(carrier(self.lab, 0, 1), "1")
        self.assertEqual(self.state(1, 1), "cut")
        self.is_lost(0, 1, 1)
        self.is_lost(1, 0, 1)
        self.arrives(0, 2, 1)
        self.arrives(0, 1, 0)
        self.lab.heal(1, node=1)
        self.assertEqual(carrier(self.lab, 1, 1), "1")
        self.returns(0, 1, 1)

    def test_whole_rail(self):
        self.lab.cut(0)
        self.addCleanup(self.lab.heal, 0)
        self.assertEqual([carrier(self.lab, node, 0) for node in range(3)], ["0"] * 3)
        self.is_lost(1, 2, 0)
        self.arrives(1, 2, 1)
        self.lab.heal(0)
        self.returns(1, 2, 0)


class Silence(FaultCase):
    def test_one_port_keeps_its_carrier(self):
        self.arrives(0, 1, 1)
        self.lab.silence(1, node=1)
        self.addCleanup(self.lab.speak, 1)
        self.assertEqual(carrier(self.lab, 1, 1), "1")
        self.assertEqual(self.state(1, 1), "silent")
        self.is_lost(0, 1, 1)
        self.is_lost(1, 0, 1)
        self.arrives(0, 2, 1)
        self.arrives(1, 0, 0)
        self.lab.speak(1, node=1)
        self.returns(0, 1, 1)

    def test_whole_rail(self):
        self.lab.silence(0)
        self.addCleanup(self.lab.speak, 0)
        self.is_lost(0, 1, 0)
        self.is_lost(2, 0, 0)
        self.lab.speak(0)
        self.returns(0, 1, 0)

    def test_a_cut_port_cannot_speak(self):
        self.lab.cut(0, node=0)
        self.addCleanup(self.lab.heal, 0)
        with self.assertRaisesRegex(LabError, "rail 0 of node n0 is cut: heal it"):
            self.lab.speak(0)


class HalfOpen(FaultCase):
    def test_one_pair_one_direction(self):
        for ipv6 in (False, True):
            self.arrives(0, 1, 1, ipv6)
        self.lab.halfopen(1, 0, 1)
        flush = ["ip", "neigh", "flush", "nud", "permanent", "dev", "eth1"]
        self.addCleanup(self.lab.exec, 0, flush)
        for ipv6 in (False, True):
            with self.subTest(ipv6=ipv6):
                self.is_lost(0, 1, 1, ipv6)
                self.arrives(1, 0, 1, ipv6)
                self.arrives(0, 2, 1, ipv6)
                self.arrives(0, 1, 0, ipv6)
        self.lab.healopen(1, 0, 1)
        self.returns(0, 1, 1)
        self.returns(0, 1, 1, ipv6=True)

    def test_lost_frames_burden_nobody_else(self):
        """Were they flooded, they would take the other nodes' bandwidth."""
        self.lab.halfopen(0, 0, 1)
        self.addCleanup(self.lab.healopen, 0, 0, 1)
        before = self.lab.nic_bytes(2, 0).received
        sent = self.lab.nic_bytes(0, 0).sent
        self.lab.exec(0, [*TRAFFIC, "send", address(self.lab, 1, 0), "200"], check=True)
        self.assertGreaterEqual(self.lab.nic_bytes(0, 0).sent - sent, 200 * 40)
        self.assertLess(self.lab.nic_bytes(2, 0).received - before, 200 * 40)


class Unplug(FaultCase):
    def mac(self, node, rail):
        return self.lab.exec(node, ["cat", f"/sys/class/net/eth{rail}/address"], capture_output=True, text=True).stdout

    def test_interface_goes_and_comes_back(self):
        before = self.mac(2, 1)
        self.lab.unplug(1, node=2)
        self.assertIsNone(carrier(self.lab, 2, 1))
        self.assertEqual(self.state(2, 1), "unplugged")
        with self.assertRaisesRegex(LabError, "rail 1 of node n2 is unplugged"):
            self.lab.nic_bytes(2, 1)
        self.lab.plug(1, node=2)
        self.assertEqual(carrier(self.lab, 2, 1), "1")
        self.assertEqual(self.mac(2, 1), before, "its neighbours would not find it for long")
        self.returns(0, 2, 1)
        self.returns(2, 0, 1, ipv6=True)


class OneSubnet(unittest.TestCase):
    def test_rails_share_a_switch_and_are_cut_apart(self):
        lab = make_lab(self, nodes=2, rails=["none", "none"], one_subnet=True)
        for rail in (0, 1):
            self.assertEqual(delivered(lab, 0, 1, rail), DATAGRAMS)
        lab.cut(1)
        self.assertEqual(delivered(lab, 0, 1, 0), DATAGRAMS)
        self.assertEqual([carrier(lab, node, 1) for node in (0, 1)], ["0", "0"])
        lab.cut(0, node=0)
        self.assertEqual(delivered(lab, 0, 1, 0), 0)

    def test_each_nic_answers_for_its_own_address(self):
        """However often and over which NIC it is asked: by the kernel's own rules any NIC of the subnet may."""
        lab = make_lab(self, nodes=2, rails=["none", "none"], one_subnet=True)
        own = [lab.exec(1, ["cat", f"/sys/class/net/eth{rail}/address"], check=True, capture_output=True,
                        text=True).stdout.strip() for rail in (0, 1)]
        for _ in range(5):
            lab.exec(0, ["ip", "neigh", "flush", "all"], check=True)
            for rail in (0, 1):
                self.assertEqual(delivered(lab, 0, 1, rail), DATAGRAMS)
                shown = lab.exec(0, ["ip", "neigh", "show", address(lab, 1, rail)], check=True, capture_output=True,
                                 text=True).stdout
                self.assertIn(f"lladdr {own[rail]} ", shown)


class Hub(unittest.TestCase):
    def test_nodes_reach_the_hub_alone(self):
        lab = make_lab(self, nodes=3, rails=["none", "none"], hubs={1: 2})
        for source, target in ((0, 2), (2, 0), (1, 2)):
            self.assertEqual(delivered(lab, source, target, 1), DATAGRAMS)
        self.assertEqual([delivered(lab, 0, 1, rail) for rail in (0, 1)], [DATAGRAMS, 0])
        lab.unplug(1, node=0)
        lab.plug(1, node=0)
        self.assertEqual([delivered(lab, 0, target, 1) for target in (1, 2)], [0, DATAGRAMS])


class Rate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = make_lab(cls, nodes=2, rails=["400mbit", "40mbit"], node_rates=["1:1:20mbit"])

    def shapes(self, node, rail):
        """Bits per second of the token buckets in the node and in the switch; None for no bucket."""
        found = []
        for where, device in ((node, f"eth{rail}"), (None, f"n{node}e{rail}")):
            done = self.lab.exec(where, ["tc", "-j", "qdisc", "show", "dev", device], capture_output=True, check=True)
            options = [row["options"] for row in json.loads(done.stdout) if row["kind"] == "tbf"]
            found.append(options[0]["rate"] * 8 if options else None)
        return found

    def test_both_ends_are_shaped(self):
        self.assertEqual(self.shapes(0, 0), [400_000_000] * 2)
        self.assertEqual(self.shapes(0, 1), [40_000_000] * 2)
        self.assertEqual(self.shapes(1, 1), [20_000_000] * 2)

    def test_none_and_back(self):
        self.lab.rate(1, "none", node=0)
        self.assertEqual(self.shapes(0, 1), [None, None])
        self.lab.rate(1, "40mbit", node=0)
        self.assertEqual(self.shapes(0, 1), [40_000_000] * 2)

    def test_survives_unplugging(self):
        self.lab.unplug(1, node=1)
        self.lab.plug(1, node=1)
        self.assertEqual(self.shapes(1, 1), [20_000_000] * 2)

    def test_change_under_traffic(self):
        """Two streams at once; only how they compare is judged, before and after the rates are swapped."""
        sinks = [Listener(self.lab, 1, "sink", address(self.lab, 1, rail)) for rail in (0, 1)]
        streams = [subprocess.Popen([*self.lab.nsenter(0), *TRAFFIC, "stream", address(self.lab, 1, rail)],
                                    stdin=subprocess.PIPE) for rail in (0, 1)]
        self.assertTrue(eventually(lambda: self._faster_in_a_while(0)))
        self.lab.rate(0, "20mbit")
        self.lab.rate(1, "400mbit")
        self.assertTrue(eventually(lambda: self._faster_in_a_while(1)))
        for stream in streams:
            stream.communicate()
            self.assertEqual(stream.returncode, 0)
        self.assertGreater(min(sink.result() for sink in sinks), 1 << 20)
        self.lab.rate(0, "400mbit")
        self.lab.rate(1, "40mbit")
        self.lab.rate(1, "20mbit", node=1)

    def _faster_in_a_while(self, rail):
        """Whether a rail moved more than four times the bytes of the other, and the other some."""
        before = [self.lab.nic_bytes(1, index).received for index in (0, 1)]
        time.sleep(0.5)
        moved = [self.lab.nic_bytes(1, index).received - old for index, old in enumerate(before)]
        return moved[rail] > 4 * moved[1 - rail] > 0


if __name__ == "__main__":
    unittest.main()
