# SPDX-License-Identifier: BSD-3-Clause
"""SHARP beside the rails of an emulated cluster. The library is test/sharp/stub.cc, which has vectors reduced by an aggregation
service in a node of its own: what the service carries, and calls that go on with the same results when it is killed, stands still
or is cut off."""

import itertools
import os
import re
import signal
import tempfile
import unittest

from lab_case import eventually
from nezha_lab.aggregator import Aggregator
from test_aggregator import BUILD, NODE, RANKS, SERVICE, Calls, WithService, key_file

STUB = os.path.join(BUILD, "test", "sharp", ".libs", "stub.so")
WHOLE = ("whole",)  # the sums of SHARP have an order of their own
LEFT = "goes on over the rails alone, without SHARP: "
SETTINGS = {"OMPI_MCA_coll_nezha_learn": "0", "OMPI_MCA_coll_nezha_verbose": "1", "OMPI_MCA_coll_nezha_report": "1",
            "OMPI_MCA_coll_nezha_sharp": "1", "OMPI_MCA_coll_nezha_sharp_library": STUB}


class BesideTheRails(WithService):
    services = 1
    more_arguments = WHOLE

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(STUB):
            raise unittest.SkipTest(f"{STUB} was not built: configure it by --with-sharp")
        super().setUpClass()

    def setUp(self):
        self.assertEqual([len(hashes) for hashes in self.expected.values()], [1, 1, 1])
        self.key = key_file(self, "k")
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.service = Aggregator(self.lab, NODE, SERVICE, self.key, ["--verbose", "2", "--statistics", self.statistics_file()])
        self.enterContext(self.service)

    def statistics_file(self):
        return os.path.join(self.directory, "nezha.prom")

    def statistic(self, name):
        """As the service has written it last."""
        try:
            with open(self.statistics_file(), encoding="ascii") as file:
                return int(re.search(rf"^nezha_aggregator_{name} (\d+)$", file.read(), re.MULTILINE)[1])
        except FileNotFoundError:
            return 0

    def calls(self, key=None, share=None, others=(), count=()):
        """`count`: of the calls; none: until the job is ended."""
        settings = {**SETTINGS, "OMPI_MCA_coll_nezha_aggregator_share": str(share or self.share),
                    "NEZHA_SHARP_STUB_SERVICE": f"{self.service.place} {key or self.key} rail_include=eth0,eth1"}
        job = Calls(self.lab, ["-x", "NEZHA_SHARP_STUB_SERVICE"], (self.size, *WHOLE, *count), settings)
        self.addCleanup(job.end)
        return job

    def assert_in_a_call(self, job):
        """Its vectors are on their way to the service."""
        self.assert_used(job)
        before = self.carried()
        self.assertTrue(eventually(lambda: self.carried() - before > self.size // 4, 30), job.errors)

    def assert_all_say(self, job, words):
        self.assertTrue(eventually(lambda: job.errors.count(words) == RANKS or not job.go_on(1), 60), job.errors)

    def assert_left(self, job, why):
        """It goes on over the rails alone, for good, since a rank has told that reason, and has the same results."""
        self.assert_all_say(job, LEFT)
        self.assertRegex(job.errors, LEFT + why)
        before = self.carried()
        self.assertTrue(job.go_on(), job.errors)
        self.assertLess(self.carried() - before, self.size // 4)
        self.assertEqual(job.joined(), 1, job.errors)
        self.assert_right(job)

    def test_the_service_reduces(self):
        """As its own statistics have it; the report of the job says how much it was."""
        job = self.calls(count=("40",))
        self.assertTrue(eventually(job.over, 120))
        job.end()
        self.assertEqual(job.made, 40, job.errors)
        self.assert_right(job)
        head, *rows = itertools.dropwhile(lambda line: line.split()[:2] != ["size", "calls"], job.errors.splitlines())
        self.assertIn("aggregator %", head)
        row = next(line.split() for line in rows if line.split()[1:3] == ["2", "MiB"])
        self.assertEqual(float(row[-1]), self.share)
        self.assertTrue(eventually(lambda: self.statistic("given_up_total") == 1, 30), self.service.log())
        operations = self.statistic("operations_total")
        self.assertEqual(operations, int(row[3]))
        through = self.statistic("vector_bytes_total") / operations
        self.assertAlmostEqual(through / self.size, self.share / 100, delta=0.05)
        self.assertEqual(self.service.log().count("has come"), RANKS, self.service.log())

    def test_killed_in_a_call(self):
        job = self.calls()
        self.assert_in_a_call(job)
        self.service.end(signal.SIGKILL)
        self.assert_left(job, r"a sum of the SHARP library: the aggregation service has brought no sums")
        self.service.start()
        self.assertTrue(job.go_on(), job.errors)
        self.assert_right(job)

    def test_stopped_in_a_call(self):
        job = self.calls()
        self.assert_in_a_call(job)
        self.service.send(signal.SIGSTOP)
        self.assert_left(job, r"no sum of the SHARP library within \d+ ms since all ranks had begun the call")
        self.service.send(signal.SIGCONT)
        self.assertTrue(job.go_on(), job.errors)
        self.assert_right(job)

    def test_cut_off_in_a_call(self):
        self.addCleanup(self.both_links, self.lab.heal)
        job = self.calls()
        self.assert_in_a_call(job)
        self.both_links(self.lab.cut)
        self.assert_left(job, "")

    def test_another_key(self):
        """The service takes nobody in: no rank has a group."""
        job = self.calls(key_file(self, "x"))
        self.assert_all_say(job, "goes over the rails alone, without SHARP: ")
        self.assertIn("sharp_coll_comm_init: not all ranks reach the same aggregation service", job.errors)
        self.assertTrue(job.go_on(), job.errors)
        self.assertEqual(job.joined(), 0)
        self.assert_right(job)
        self.assertIn("refused", self.service.log())


if __name__ == "__main__":
    unittest.main()
