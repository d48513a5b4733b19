# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service beside the rails of nodes with two ranks each: what these add up on their node goes there in part, with the
same bits when the service is killed or cut off."""

import re
import signal
import unittest

import test_aggregator
from lab_case import eventually
from test_aggregator import BYTES, Calls


class OfNodes(test_aggregator.WithService):
    ranks_per_node = 2

    def test_killed_and_started_again(self):
        self.assert_comes_and_goes(lambda: self.service.end(signal.SIGKILL), self.service.start)

    def test_cut_off_and_healed(self):
        self.assert_comes_and_goes(lambda: self.both_links(self.lab.cut), lambda: self.both_links(self.lab.heal))

    def test_report_tells_the_share(self):
        """Of a hundred calls: the first ones find no service yet."""
        options = [*self.service.parameters(self.key, 100), "--mca", "coll_nezha_report", "1"]
        job = Calls(self.lab, options, (BYTES, "fractions", 100), ranks_per_node=self.ranks_per_node)
        self.addCleanup(job.end)
        self.assertTrue(eventually(job.over, 60), job.errors)
        size = re.search(r"aggregator %\n(?:.*\n)*?.*2 MiB.* (\d+(?:\.\d+)?)\n", job.errors)
        self.assertIsNotNone(size, job.errors)
        self.assertGreater(float(size[1]), 20)
        self.assert_right(job)


if __name__ == "__main__":
    unittest.main()
