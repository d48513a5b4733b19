# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts share that run MPICH's own tests of collectives with the component carrying them."""

import math
import os
import re
import unittest

import mpich_suite
from mpi_case import COMPONENT, SAME_ORDER, mpirun, preloaded
from mpich_suite import name_of
from nezha_lab import Lab, LabUnavailable

# Without Open MPI's vectorized sums: of bytes these saturate, and `allred` of a hundred elements expects that they wrap.
ALL = {"coll_nezha_collectives": "all", "coll_nezha_reproducible": "1", "coll_nezha_learn": "0", "op": "^avx",
       **SAME_ORDER}
TIMEOUT = 240
# Each test ends with a reduction of its errors. What has nothing else to carry: local functions, operations of the program's
# own, gather and scatter, vectors without elements, persistent forms of others than allreduce.
NOTHING_TO_CARRY = re.compile(r"(p_(?!allred)\w+|reduce_local|op_commutative|bcastzerotype|coll\d+|longuser|redscat2|red_scat_block2|uoplong|"
                              r"nbcoll2)$")
# Wrong on 16 ranks by any MPI, and some on 8, so each runs on the numbers of ranks that its authors choose:
# - allred: products are not exact on more than 10 ranks; iallred: for 2 ranks;
# - bcastzerotype: a byte holds 10 times the rank and more;
# - coll2, coll6, coll7, nbcoll2: a table of 10 rows, which the number of ranks has to divide. Of more than 10 ranks the others
#   leave out the gathers or allgathers of all but coll6, which then never end;
# - coll4, coll5: rank 0 scatters to all ranks what is there for 10, and only 10 receive.
OF_THEIR_OWN = ("allred", "iallred", "bcastzerotype", "coll2", "coll4", "coll5", "coll6", "coll7", "nbcoll2")
# Of what shared memory alone carries: blocking allreduces and reductions to a root.
IN_MEMORY = re.compile(r"(allred(many|\d)?|op(?!_)\w+|reduce)$")


def right(done):
    return done.returncode == 0 and " No Errors" in done.stdout


def carried(done):
    return int(re.search(r"the component carried (-?\d+) calls", done.stderr)[1])


class MpichCase(unittest.TestCase):
    CHOSEN = None  # names of programs; None: all

    @classmethod
    def setUpClass(cls):
        cls.library = preloaded("join_first")
        cls.tests = mpich_suite.make(cls.CHOSEN)

    def pass_with(self, run, ranks=None, carries=None):
        """Each of them by `run` (argv, ranks), on so many ranks, or as many as its authors run it on. The component carries calls
        of those whose names match, or that have something to carry. On the kinds of nodes below Open MPI alone passes all."""
        tests = self.on(ranks)
        self.assertEqual({name_of(test) for test in tests}, {name_of(test) for test in self.tests})
        self.assertTrue(tests, "there is no test to run")
        for path, np, arguments in tests:
            name = os.path.basename(path)
            with self.subTest(test=name, ranks=np, arguments=arguments):
                done = run([path, *arguments], np)
                self.assertTrue(right(done), done.stdout[-1000:] + done.stderr[-2000:])
                if np > 1 and (carries.match(name) if carries else not NOTHING_TO_CARRY.match(name)):
                    self.assertGreaterEqual(carried(done), 2 if carries is None else 1)

    def on(self, ranks):
        """self.tests on so many ranks, but for those that cannot; none twice."""
        if ranks is None:
            return self.tests
        return list(dict.fromkeys((path, usual if os.path.basename(path) in OF_THEIR_OWN else ranks, (*arguments,))
                                  for path, usual, arguments in self.tests))

    def on_this_host(self, params):
        def run(argv, ranks):
            return mpirun(argv, ranks, params={**params, **ALL}, timeout=TIMEOUT, preload=[self.library])
        return run

    def in_lab(self, nodes, ppn):
        lab = Lab(nodes=nodes, rails=["none", "none"])
        try:
            lab.up(ephemeral=True)
        except LabUnavailable as reason:
            self.skipTest(str(reason))
        self.addCleanup(lab.down)
        options = [word for name, value in ALL.items() for word in ("--mca", name, value)]

        def run(argv, ranks):
            each = min(ppn, math.ceil(ranks / nodes))
            return lab.mpirun(["-x", "LD_PRELOAD=" + self.library, *options, *argv], np=ranks, ppn=each, timeout=TIMEOUT,
                              incumbent_rails="mgmt", component_dir=COMPONENT)
        return run


class OnNodesOfSeveralRanks:
    """Beside MpichCase: what a script's programs have to pass wherever several ranks share a node."""

    def test_a_node_of_eight(self):
        self.pass_with(self.on_this_host({}), 8, carries=IN_MEMORY)

    def test_four_nodes_of_four(self):
        self.pass_with(self.in_lab(4, 4), 16)

    def test_two_nodes_of_eight(self):
        self.pass_with(self.in_lab(2, 8), 16)
