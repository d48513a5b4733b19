#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rails that are not where they were, or that were not there at all, are taken up under a running mpirun."""

import subprocess
import sys
import unittest

from fault_case import BYTES, NODES, FaultCase
from nezha_faults.flood import listening_port

# Listens on an address that the node is to have later, and says so.
OCCUPY = """
import socket, sys, time
taken = socket.socket()
taken.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
taken.bind((sys.argv[1], int(sys.argv[2])))
taken.listen()
print("taken", flush=True)
time.sleep(60)
"""


class Moves(FaultCase):

    def ip(self, node, *lines):
        for line in lines:
            self.lab.exec(node, ["ip", *line.split()], check=True)

    def carries_at_the_end(self, rail, node, faults, seconds=5, **params):
        """After all `faults` the rail must carry its part to and from that node; the output."""
        moved = []
        def count():
            moved.append(self.lab.nic_bytes(node, rail))
        output = self.survives([*faults, (seconds - 1.5, count)], seconds=seconds, **params)
        now = self.lab.nic_bytes(node, rail)
        self.assertGreater(now.sent - moved[0].sent, 2 * BYTES, output[-3000:])
        self.assertGreater(now.received - moved[0].received, 2 * BYTES, output[-3000:])
        return output

    def test_address_changed(self):
        """Also on the lowest rank, which connects to all others, and on the highest, to which all connect. A process that does
        not run in between sees only the new address."""
        for node in (0, 2):
            with self.subTest(node=node):
                faults = [(0.5, self.ip, node, f"addr del 10.11.0.{node + 1}/24 dev eth1"),
                          (0.6, self.ip, node, f"addr add 10.11.0.{node + 101}/24 dev eth1")]
                output = self.carries_at_the_end(1, node, faults)
                self.assertRegex(output, "rail tcp/eth1 is lost: eth1 has lost its address|: eth1 has another address now")
                self.assertIn(f"rail tcp/eth1 is back at 10.11.0.{node + 101}", output)
                self.assertIn(f"rank {node} on n{node} has rail tcp/eth1 at 10.11.0.{node + 101} now", output)

    def test_address_changed_to_where_its_port_is_taken(self):
        """By another program, which was there first: the rank takes another port and tells its peers."""
        ports = []
        def occupy():
            ports.append(listening_port(self.lab, 1, 1))
            other = subprocess.Popen([*self.lab.nsenter(1), sys.executable, "-c", OCCUPY, "10.11.0.102", str(ports[0])],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            for end in (other.stdout.close, other.wait, other.kill):
                self.addCleanup(end)
            self.assertEqual(other.stdout.readline(), "taken\n")
            self.ip(1, "addr del 10.11.0.2/24 dev eth1", "addr add 10.11.0.102/24 dev eth1")
        output = self.carries_at_the_end(1, 1, [(0.5, occupy)])
        self.assertIn("rank 1 on n1 has rail tcp/eth1 at 10.11.0.102 now", output)
        self.assertNotIn(f"at 10.11.0.102, port {ports[0]} now", output)

    def test_made_anew_with_another_address(self):
        def plug():
            self.lab.plug(1, 1)
            self.ip(1, "addr del 10.11.0.2/24 dev eth1", "addr add 10.11.0.77/24 dev eth1")
        self.carries_at_the_end(1, 1, [(0.5, self.lab.unplug, 1, 1), (1.5, plug)])

    def test_made_anew(self):
        self.carries_at_the_end(1, 1, [(0.5, self.lab.unplug, 1, 1), (1.5, self.lab.plug, 1, 1)])

    def test_renamed(self):
        rename = [(0.5, self.ip, 1, "link set eth1 down", "link set eth1 name other", "link set other up")]
        output = self.carries_at_the_end(1, 1, rename)
        self.assertIn("rail tcp/eth1: its interface is called other now", output)

    def test_absent_at_the_start(self):
        for named in ("eth0,eth1", "10.10.0.0/16,10.11.0.0/16"):
            with self.subTest(named=named):
                self.lab.unplug(1, 1)
                output = self.carries_at_the_end(1, 1, [(0.5, self.lab.plug, 1, 1)], coll_nezha_rail_include=named)
                self.assertIn("rail tcp/eth1 is new, at 10.11.0.2", output)
                self.assertIn("rank 1 on n1 has rail tcp/eth1 at 10.11.0.2 now", output)

    def test_absent_everywhere_at_the_start(self):
        for node in range(NODES):
            self.lab.unplug(1, node)
        self.carries_at_the_end(1, 1, [(0.5 + 0.2 * node, self.lab.plug, 1, node) for node in range(NODES)])

    def test_the_only_rail_moves(self):
        """There is no lane to say so: the node itself connects, also where it had waited to be connected to."""
        faults = [(0.5, self.ip, 2, "addr del 10.11.0.3/24 dev eth1", "addr add 10.11.0.103/24 dev eth1")]
        self.carries_at_the_end(1, 2, faults, coll_nezha_rail_include="eth1")


if __name__ == "__main__":
    unittest.main()
