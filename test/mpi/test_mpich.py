#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""MPICH's own tests of allreduce and its siblings, blocking and not, with the component carrying them: over rails on one host,
in one node's shared memory, and on emulated nodes of several ranks."""

import os
import re
import subprocess
import sys
import unittest

import mpich_suite
from mpi_case import COMPONENT, RAILS, mpirun, preloaded
from nezha_lab import Lab, LabUnavailable

ALL = {"coll_nezha_collectives": "all", "coll_nezha_reproducible": "1", "coll_nezha_learn": "0"}
TIMEOUT = 240
# Each test ends with a reduction of its errors. What has nothing else to carry: local functions, operations of the program's
# own, gather and scatter, vectors without elements, persistent forms of others than allreduce.
NOTHING_TO_CARRY = re.compile(r"(p_(?!allred)\w+|reduce_local|op_commutative|bcastzerotype|coll\d+|longuser|redscat2|red_scat_block2|uoplong|"
                              r"nbcoll2)$")
BLOCKING_ALLREDUCES = re.compile(r"allred(many|\d)?$")


def right(done):
    return done is not None and done.returncode == 0 and " No Errors" in done.stdout


def carried(done):
    return int(re.search(r"the component carried (-?\d+) calls", done.stderr)[1])


class MpichTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tests = mpich_suite.make()

    def pass_with(self, run, ranks=None, carries=None):
        """Each of them by `run` (argv, ranks, component). The component carries calls of those whose names match, or that have
        something to carry. Left out is what fails without the component too."""
        for path, usual, arguments in self.tests:
            name, np = os.path.basename(path), ranks or usual
            with self.subTest(test=name, ranks=np, arguments=arguments):
                try:
                    done = run([path, *arguments], np, True)
                except (AssertionError, subprocess.TimeoutExpired) as late:
                    done, problem = None, str(late)[-3000:]
                else:
                    problem = done.stdout[-1000:] + done.stderr[-2000:]
                if not right(done) and self.fails_alone(run, [path, *arguments], np):
                    print(f"# {name} on {np} ranks fails without the component too", file=sys.stderr)
                    continue
                self.assertTrue(right(done), problem)
                if np > 1 and (carries.match(name) if carries else not NOTHING_TO_CARRY.match(name)):
                    self.assertGreaterEqual(carried(done), 2 if carries is None else 1)

    @staticmethod
    def fails_alone(run, argv, np):
        try:
            return not right(run(argv, np, False))
        except (AssertionError, subprocess.TimeoutExpired):
            return True

    @staticmethod
    def on_this_host(params):
        def run(argv, ranks, component):
            return mpirun(argv, ranks, params={**params, **ALL} if component else {}, component=component, timeout=TIMEOUT,
                          preload=[preloaded("join_first")])
        return run

    def in_lab(self, nodes, ppn):
        lab = Lab(nodes=nodes, rails=["none", "none"])
        try:
            lab.up(ephemeral=True)
        except LabUnavailable as reason:
            self.skipTest(str(reason))
        self.addCleanup(lab.down)
        options = [word for name, value in ALL.items() for word in ("--mca", name, value)]

        def run(argv, ranks, component):
            return lab.mpirun(["-x", "LD_PRELOAD=" + preloaded("join_first"), *(options if component else []), *argv], np=ranks,
                              ppn=ppn, timeout=TIMEOUT, incumbent_rails="mgmt", nezha=component, component_dir=COMPONENT)
        return run

    def test_over_rails(self):
        self.pass_with(self.on_this_host({**RAILS, "coll_nezha_shared_memory": "0"}))

    def test_within_a_node(self):
        self.pass_with(self.on_this_host({}), carries=BLOCKING_ALLREDUCES)

    def test_four_nodes_of_four(self):
        self.pass_with(self.in_lab(4, 4), 16)

    def test_two_nodes_of_eight(self):
        self.pass_with(self.in_lab(2, 8), 16)


if __name__ == "__main__":
    unittest.main()
