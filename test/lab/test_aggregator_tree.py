# SPDX-License-Identifier: BSD-3-Clause
"""A tree of aggregators beside the rails of an emulated cluster, for two racks: calls go on with the same bits when one of the
aggregators is killed, stands still or is cut off."""

import signal
import unittest

import test_aggregator
from lab_case import eventually
from nezha_lab.aggregator import Aggregator, common_parameters, named_by_rank
from test_aggregator import NODE, RANKS, SERVICE, Calls, key_file

RACK_OF = [0, 0, 1]


class InTree(test_aggregator.WithService):
    """`self.service` is the one on NODE."""

    services = 3

    def start_tree(self, upstream, racks):
        """Each on its node."""
        self.key = key_file(self, "k")
        self.upstream = self.start(upstream, [])
        self.racks = [self.start(node, ["--upstream", self.upstream.place]) for node in racks]
        self.service = self.upstream if upstream == NODE else self.racks[racks.index(NODE)]

    def start(self, node, options):
        return self.enterContext(Aggregator(self.lab, node, SERVICE, self.key, ["--verbose", "2", *options]))

    def calls(self, key=None, share=None, others=()):
        options = [*common_parameters(self.key, self.share), *named_by_rank([self.racks[rack] for rack in RACK_OF])]
        job = Calls(self.lab, options, (self.size,))
        self.addCleanup(job.end)
        return job


class UpstreamAggregator(test_aggregator.Misfortunes, InTree):
    def setUp(self):
        self.start_tree(NODE, [NODE + 1, NODE + 2])


class AggregatorOfARack(test_aggregator.Misfortunes, InTree):
    def setUp(self):
        self.start_tree(NODE + 1, [NODE, NODE + 2])


class SmallCalls(InTree):
    size, share = 1000, 100

    def setUp(self):
        self.start_tree(NODE, [NODE + 1, NODE + 2])

    def test_upstream_aggregator_killed_and_started_again(self):
        self.assert_comes_and_goes(lambda: self.upstream.end(signal.SIGKILL), self.upstream.start)

    def test_aggregator_of_a_rack_killed_and_started_again(self):
        self.assert_comes_and_goes(lambda: self.racks[1].end(signal.SIGKILL), self.racks[1].start)

    def test_ends_of_ranks_free_everything(self):
        job = self.calls()
        self.assert_used(job)
        job.kill()
        for rack, log in enumerate(self.racks):
            members = RACK_OF.count(rack)
            self.assertTrue(eventually(lambda log=log, members=members: log.log().count("has gone: ") >= members, 30), log.log())


if __name__ == "__main__":
    assert RANKS == len(RACK_OF)
    unittest.main()
