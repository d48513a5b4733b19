# SPDX-License-Identifier: BSD-3-Clause
"""For tests of nezha doctor on emulated nodes."""

from command_case import CommandCase
from lab_case import make_lab

NODES = 4
ALL = ("--host", ",".join(f"n{node}" for node in range(NODES)))
RAILS = {"OMPI_MCA_coll_nezha_rail_include": "eth0,eth1"}


class Doctor(CommandCase):
    options = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = make_lab(cls, nodes=NODES, rails=["100mbit", "100mbit"], **cls.options)

    def problems(self, *arguments, env=None, **options):
        """(check, nodes, what) of the problems; advice depends on the machine that the lab is on."""
        found = self.json_in(self.lab, "doctor", *ALL, *arguments, env={**RAILS, **(env or {})}, status=1, **options)
        return [(finding["check"], finding["nodes"], finding["what"]) for finding in found["findings"]
                if finding["severity"] == "problem"]

    def one(self, check, nodes, pattern, **options):
        found = self.problems(**options)
        self.assertEqual([(name, where) for name, where, _ in found], [(check, nodes)], found)
        self.assertRegex(found[0][2], pattern)

    def on_node(self, node, *command):
        self.lab.exec(node, command, check=True)

    def firewall(self, node, rule):
        self.on_node(node, "nft", "add table inet doctor")
        self.addCleanup(self.on_node, node, "nft", "delete table inet doctor")
        self.on_node(node, "nft", "add chain inet doctor guard { type filter hook input priority 0; }")
        self.on_node(node, "nft", f"add rule inet doctor guard {rule}")
