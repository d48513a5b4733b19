#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which interfaces become rails, on two emulated nodes: by name, by block, inherited from Open MPI, or none."""

import unittest

from mpi_case import COMPONENT, MpiCase, program
from nezha_lab import Lab, LabUnavailable


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
        options = [word for name, value in params.items() for word in ("--mca", name, value)]
        done = self.lab.mpirun([*options, program("counters"), "50", patience], np=np, ppn=ppn, component_dir=COMPONENT, timeout=120)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr)
        return done

    def rails(self, done):
        self.assertGreater(self.counters(done)["least"][0], 0)
        return len(self.counters(done)["rail_bytes_sent"])

    def test_both(self):
        done = self.run_with({})
        self.assertEqual(self.rails(done), 2)
        self.assertNotIn("Nezha", done.stderr)

    def test_by_block(self):
        done = self.run_with({"coll_nezha_rail_include": "10.11.0.0/16"})
        self.assertEqual(self.rails(done), 1)

    def test_excluded(self):
        done = self.run_with({"coll_nezha_rail_include": "", "coll_nezha_rail_exclude": "eth1,mgmt"})
        self.assertEqual(self.rails(done), 1)

    def test_inherited(self):
        done = self.run_with({"coll_nezha_rail_include": "", "btl_tcp_if_include": "eth1"})
        self.assertEqual(self.rails(done), 1)

    def test_no_such_rail(self):
        done = self.says("names an interface that this node does not have.*Named: eth99 .*There are: .*eth0.*eth1",
                         lambda: self.run_with({"coll_nezha_rail_include": "eth0,eth99"}))
        self.assertEqual(self.rails(done), 1)

    def test_none_left(self):
        for text in ("Named: eth99 .*There are: .*eth0.*eth1", "finds no network that it can use on a node"):
            done = self.says(text, lambda: self.run_with({"coll_nezha_rail_include": "eth99"}, patience="2"))
            self.nothing_carried(done)

    def test_two_ranks_on_each_node(self):
        done = self.run_with({}, np=4, ppn=2)
        self.assertEqual(self.rails(done), 2)

    def test_communicator_within_a_node_is_left_alone(self):
        done = self.run_with({}, np=2, ppn=2, patience="1")
        self.nothing_carried(done)


if __name__ == "__main__":
    unittest.main()
