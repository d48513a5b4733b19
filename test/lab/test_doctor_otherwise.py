# SPDX-License-Identifier: BSD-3-Clause
# long
"""More ways to break what nezha doctor looks at; test_doctor.py has one of each kind."""

import tempfile
import unittest

from doctor_case import NODES, RAILS, Doctor
from nezha_lab import openmpi


class Broken(Doctor):
    def test_cut_where_there_are_two(self):
        self.lab.cut(rail=1, node=0)
        self.addCleanup(self.lab.heal, rail=1, node=0)
        text = self.nezha_in(self.lab, "doctor", "--host", "n0,n1", env=RAILS, status=1)
        self.assertRegex(text, r"problem, rails: n0 has 1 of the 2 rails that n1 has; .*eth1 \(no carrier\)")

    def test_one_address_on_all_nodes(self):
        """As that of a bridge that containers have made."""
        for node in range(NODES):
            self.on_node(node, "ip", "link", "add", "docker0", "type", "bridge")
            self.addCleanup(self.on_node, node, "ip", "link", "del", "docker0")
            self.on_node(node, "ip", "link", "set", "docker0", "up")
            self.on_node(node, "ip", "addr", "add", "172.17.0.1/16", "dev", "docker0")
        self.one("addresses", [f"n{node}" for node in range(NODES)], r"have the same address 172.17.0.1 \(tcp/docker0\)",
                 env={"OMPI_MCA_coll_nezha_rail_include": "eth0,eth1,docker0"})

    def test_half_open(self):
        self.lab.halfopen(rail=0, source=1, target=3)
        self.addCleanup(self.lab.healopen, rail=0, source=1, target=3)
        self.one("pairs", ["n1", "n3"], "the lane n1 tcp/eth0 - n3 tcp/eth0 .*n1 sends to the wrong hardware address")

    def test_firewall_rejects(self):
        self.firewall(1, "iifname eth1 tcp flags syn / syn,ack reject with tcp reset")
        self.one("pairs", ["n1"], "tcp/eth1 of n1 .*a firewall on n1 rejects connections that come in")

    def test_mtu(self):
        self.on_node(3, "ip", "link", "set", "eth0", "mtu", "1400")
        self.addCleanup(self.on_node, 3, "ip", "link", "set", "eth0", "mtu", "1500")
        self.one("mtu", ["n3"], "the MTU of tcp/eth0 on n3 is 1400, that of tcp/eth0 on n0 1500")

    def test_a_setting_that_costs_speed(self):
        self.on_node(2, "sysctl", "-qw", "net.ipv4.tcp_window_scaling=0")
        self.addCleanup(self.on_node, 2, "sysctl", "-qw", "net.ipv4.tcp_window_scaling=1")
        self.one("kernel", ["n2"], "tcp_window_scaling is 0 on n2")

    def test_a_rail_that_only_some_have(self):
        self.lab.unplug(rail=1, node=0)
        self.addCleanup(self.lab.plug, rail=1, node=0)
        found = self.problems()
        self.assertEqual([(check, nodes) for check, nodes, _ in found], [("rails", ["n0"]), ("rails", ["n0"])], found)
        self.assertIn("eth1 is named as a rail and n0 has no such interface", found[0][2])

    def test_component_not_found(self):
        with tempfile.TemporaryDirectory() as empty:
            self.one("component", [f"n{node}" for node in range(NODES)], "Open MPI does not list coll/nezha on n0, n1, n2, n3",
                     env=openmpi.component_path(empty))

    def test_switched_off(self):
        self.one("component", [f"n{node}" for node in range(NODES)], "coll_nezha_enable is 0", env={"OMPI_MCA_coll_nezha_enable": "0"})


class OtherCongestionControl(Doctor):
    """A lab of its own, for a node may not always take back what it had."""

    def test_congestion_control(self):
        self.on_node(1, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
        self.one("kernel", ["n1"], f"congestion control is reno on n1, {self.lab.record['congestion']} elsewhere")


class OneSubnet(Doctor):
    options = {"one_subnet": True}

    def test_who_answers_for_all(self):
        for node in range(NODES):
            for name in ("all", "eth0", "eth1"):
                self.on_node(node, "sysctl", "-qw", f"net.ipv4.conf.{name}.arp_ignore=0", f"net.ipv4.conf.{name}.arp_announce=0")
        found = self.problems()
        self.assertIn(("subnets", [f"n{node}" for node in range(NODES)]), [(check, nodes) for check, nodes, _ in found])


if __name__ == "__main__":
    unittest.main()
