# SPDX-License-Identifier: BSD-3-Clause
"""nezha doctor on emulated nodes that were broken on purpose: each time it names what is wrong, and nothing else."""

import os
import re
import socket
import unittest

from command_case import COMPONENT, CommandCase
from doctor_case import ALL, NODES, RAILS, Doctor

from nezha_lab import openmpi


class Broken(Doctor):
    """One of each kind: test_doctor_checks.py has what is concluded from any measurements."""

    def test_sound(self):
        """Also then it has what was measured, of each pair of nodes and both rails from both ends."""
        found = self.json_in(self.lab, "doctor", *ALL, env=RAILS, status=0)
        self.assertEqual([finding for finding in found["findings"] if finding["severity"] == "problem"], [])
        self.assertEqual({(row["node"], row["peer"], row["rail"]) for row in found["matrix"] if row["rtt_us"]},
                         {(f"n{node}", f"n{peer}", rail) for node in range(NODES) for peer in range(NODES) if node != peer
                          for rail in ("tcp/eth0", "tcp/eth1")})
        (told,) = found["memory"]
        self.assertEqual(told["nodes"], list(found["nodes"]))
        self.assertIn("; not by XPMEM: ", told["what"])
        for node in found["nodes"].values():
            self.assertEqual(set(node["memory"]["not_used"]), {"process_vm_readv", "XPMEM"})

    def test_cut(self):
        self.lab.cut(rail=1, node=2)
        self.addCleanup(self.lab.heal, rail=1, node=2)
        self.one("rails", ["n2"], r"n2 has 1 of the 2 rails .* eth1 \(no carrier\)")

    def test_what_was_measured_is_shown(self):
        text = self.nezha_in(self.lab, "doctor", *ALL, env=RAILS)
        for rail in ("tcp/eth0", "tcp/eth1"):
            self.assertRegex(text, rf"{rail}: round trips in us, from the node of the row\n +n0 +n1 +n2 +n3\nn0 +\d+[\d.]* +\d+[\d.]* +\d")
            self.assertRegex(text, rf"{rail}: rates in Mbit/s, from the node of the row\n +n0 +n1 +n2 +n3\nn0 +\d+ +\d+\n")
        self.assertEqual(text.count("ranks of each node share memory by two copies through a segment; not by process_vm_readv: "), 1)
        self.assertRegex(text, "\n\n0 problems found")

    def test_silent(self):
        self.lab.silence(rail=1, node=2)
        self.addCleanup(self.lab.speak, rail=1, node=2)
        self.one("pairs", ["n2"], "tcp/eth1 of n2 cannot be used .*: its switch port, cable or VLAN")

    def test_firewall_drops(self):
        self.firewall(1, "iifname eth0 tcp flags syn / syn,ack drop")
        self.one("pairs", ["n1"], "tcp/eth0 of n1 .*a firewall on n1 drops connections that come in")

    def test_a_slow_port(self):
        self.lab.rate(1, "10mbit", node=2)
        self.addCleanup(self.lab.rate, 1, "100mbit", node=2)
        found = self.problems()
        self.assertEqual({(check, tuple(nodes)) for check, nodes, _ in found}, {("speed", ("n2",))}, found)
        self.assertRegex(found[0][2], r"n2 sends at \d+ Mbit/s over tcp/eth1, the others at \d+ Mbit/s")


class Here(CommandCase):
    def test_no_port(self):
        for port in ("99999", "0", "-1", "http"):
            self.nezha("doctor", "--port", port, status=2)

    def test_this_node(self):
        env = {**os.environ, "OMPI_MCA_coll_nezha_single_node": "2", **openmpi.component_path(COMPONENT)}
        self.assertRegex(self.nezha("doctor", env=env), f"^node {re.escape(socket.gethostname())} alone, 2 rails\nranks of each node share memory ")

    def test_for_people(self):
        env = {**os.environ, "OMPI_MCA_coll_nezha_enable": "0"}
        text = self.nezha("doctor", env=env, status=1)
        self.assertRegex(text, "problem, component: coll_nezha_enable is 0 on .*\n  what to do: take that setting away\n")


if __name__ == "__main__":
    unittest.main()
