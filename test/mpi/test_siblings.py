#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# sanitizers: address undefined
"""The collectives beside allreduce, carried by rails."""

import time
import unittest

from fault_case import FaultCase
from mpi_case import LONG, RAILS, MpiCase, mpirun, program
from nezha_lab import openmpi

ALL = {**RAILS, "coll_nezha_collectives": "all"}


class Siblings(MpiCase):
    def test_ranks(self):
        for np in (2, 3, 5) if LONG else (2, 3):
            with self.subTest(np):
                self.passes("siblings", np, params=ALL)

    def test_each_algorithm(self):
        for algorithm in ("ring", "mesh", "halving") if LONG else ("mesh", "halving"):
            with self.subTest(algorithm):
                self.passes("siblings", 4, params={**ALL, "coll_nezha_algorithm": algorithm})

    def test_learned(self):
        """Open MPI's own carries some of the calls meanwhile, and is timed."""
        params = {**ALL, "coll_nezha_learn": "1", "coll_nezha_verbose": "1"}
        log = self.passes("siblings", 3, "4", params=params).stderr
        for name in ("reduce_scatter", "allgather", "bcast", "reduce"):
            self.assertRegex(log, rf"{name} from [^ ]+ bytes: .*incumbent \d+ us", log[-3000:])

    def test_over_open_mpis_basic_ones(self):
        """Which call one another on the same communicator, also while the ranks agree."""
        self.passes("siblings", 3, params={**ALL, "coll": "basic,libnbc,self,inter,nezha"})

    def test_only_what_rank_0_asks_for(self):
        """The others have another list."""
        others = self.wrapper('[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export OMPI_MCA_coll_nezha_collectives=all')
        for names, calls in (("allreduce", "0"), ("bcast,reduce", "20"), ("all", "30")):
            with self.subTest(names):
                done = mpirun([others, program("siblings"), "carried", calls], 3,
                              params={**RAILS, "coll_nezha_collectives": names})
                self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(), done.stderr[-2000:])


class Unnamed(FaultCase):
    """What rails carry where nobody says it."""

    def carried(self, calls, count, **params):
        job = self.start(program("siblings"), "carried", calls, count, coll_nezha_learn="0", **params)
        output = openmpi.output(job.communicate(timeout=90)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])

    def test_large_vectors_of_ranks_with_nodes_of_their_own(self):
        self.carried(30, 4000)
        self.carried(0, 300)

    def test_nothing_under_a_named_algorithm(self):
        self.carried(0, 4000, coll_nezha_algorithm="ring")

    def test_what_goes_through_memory_where_a_node_has_two_ranks(self):
        """By Open MPI's han, whose communicators between nodes have one rank a node, others would be carried too."""
        self.ppn = 2
        self.carried(30, 4000, coll_han_priority="0")
        self.carried(0, 300, coll_han_priority="0")
        self.carried(0, 4000, coll_han_priority="0", coll_nezha_shared_memory="0")


class Faults(FaultCase):
    def test_a_rail_is_unplugged_and_comes_back(self):
        job = self.start(program("siblings"), 5, coll_nezha_collectives="all")
        self.await_line(job, "rails carry")
        for pause, fault in ((0.5, self.lab.cut), (1.5, self.lab.heal)):
            time.sleep(pause)
            fault(1, 2)
        output = openmpi.output(job.communicate(timeout=90)[0])
        self.assertTrue(job.returncode == 0 and "passed" in output.splitlines(), output[-3000:])
        self.assertIn("rail tcp/eth1 is lost", output)


if __name__ == "__main__":
    unittest.main()
