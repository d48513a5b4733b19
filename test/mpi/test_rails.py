#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which interfaces become rails, on two emulated nodes: by name, by block, inherited from Open MPI, or none."""

import tempfile
import unittest

from mpi_case import COMPONENT, MpiCase, plain, program
from nezha_lab import Lab, LabUnavailable

RAILS = (0, 1)
# The program's 50 calls send some 20 MB from a node; an unused rail has ARP and the like.
MUCH, LITTLE = 1 << 20, 100 << 10


class Rails(MpiCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(nodes=2, rails=["1gbit", "1gbit"])
        try:
            cls.lab.up(ephemeral=True)
        except LabUnavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        cls.addClassCleanup(cls.lab.down)

    def run_with(self, params, np=2, ppn=1, patience="20"):
        """Runs the program "counters"; `sent` of what it returns is what the NICs of node n1 have sent meanwhile, by rail.
        Open MPI's own traffic is on the management network, unless the parameters say otherwise."""
        options = [word for name, value in params.items() for word in ("--mca", name, value)]
        before = [self.lab.nic_bytes(1, rail).sent for rail in RAILS]
        done = self.lab.mpirun([*options, program("counters"), "50", patience], np=np, ppn=ppn, component_dir=COMPONENT,
                               incumbent_rails="mgmt", timeout=120)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        done.sent = [self.lab.nic_bytes(1, rail).sent - old for rail, old in zip(RAILS, before)]
        return done

    def assert_over(self, done, *rails):
        """Every rank's calls were carried, and their bytes were on these rails and on no other."""
        self.assertGreater(self.counters(done)["least"][0], 0)
        self.assertEqual(len(self.counters(done)["rail_bytes_sent"]), len(rails))
        for rail in RAILS:
            if rail in rails:
                self.assertGreater(done.sent[rail], MUCH, f"eth{rail}")
            else:
                self.assertLess(done.sent[rail], LITTLE, f"eth{rail}")

    def test_both(self):
        done = self.run_with({})
        self.assert_over(done, 0, 1)
        self.assertNotIn("Nezha", done.stderr)

    def test_by_block(self):
        self.assert_over(self.run_with({"coll_nezha_rail_include": "10.11.0.0/16"}), 1)

    def test_excluded(self):
        self.assert_over(self.run_with({"coll_nezha_rail_include": "", "coll_nezha_rail_exclude": "eth1,mgmt"}), 0)

    def test_inherited(self):
        self.assert_over(self.run_with({"coll_nezha_rail_include": "", "btl_tcp_if_include": "eth1"}), 1)

    def test_no_such_rail(self):
        done = self.says("names an interface that this node does not have.*Named: eth99 .*There are: .*eth0.*eth1",
                         lambda: self.run_with({"coll_nezha_rail_include": "eth0,eth99"}))
        self.assert_over(done, 0)

    def test_none_left(self):
        done = self.says("finds no network that it can use on a node.* Reason: coll_nezha_rail_include .* "
                         "names only what this node does not have: eth99; there are: .*eth0.*eth1",
                         lambda: self.run_with({"coll_nezha_rail_include": "eth99"}, patience="2"))
        self.nothing_carried(done)
        for other in ("names an interface", "cannot reach each other", "names interfaces to use in any case"):
            self.assertNotIn(other, plain(done.stderr))

    def test_nodes_without_nezha_are_named(self):
        """A node of which all ranks are alike is named without ranks."""
        wrapper = self.wrapper('case "$PMIX_RANK" in [23]) export OMPI_MCA_coll_nezha_enable=0 ;; esac')
        done = self.says("some of its ranks do not use it.* Disabled on: n1 Every", lambda: self.lab.mpirun(
            [wrapper, program("counters"), "20", "1"], np=4, ppn=2, component_dir=COMPONENT, incumbent_rails="mgmt", timeout=120))
        self.nothing_carried(done)

    def test_two_ranks_on_each_node(self):
        self.assert_over(self.run_with({}, np=4, ppn=2), 0, 1)

    def test_two_ranks_on_each_node_need_larger_vectors_for_an_aggregator(self):
        with tempfile.NamedTemporaryFile() as key:
            key.write(bytes(32))
            key.flush()
            done = self.run_with({"coll_nezha_aggregators": "n0:4757", "coll_nezha_aggregator_key": key.name, "coll_nezha_report": "1"},
                                 np=4, ppn=2)
        self.assertIn("Nothing went through aggregators: none was reached, the rails were faster, or too little was to go: where", done.stderr)

    def test_communicator_within_a_node_is_left_alone(self):
        done = self.run_with({}, np=2, ppn=2, patience="1")
        self.nothing_carried(done)


if __name__ == "__main__":
    unittest.main()
