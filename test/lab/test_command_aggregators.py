# SPDX-License-Identifier: BSD-3-Clause
"""What nezha rails, nezha doctor and the reports tell of aggregators."""

import json
import os
import signal
import tempfile
import unittest

from bench_case import BUILD, program
from command_case import COMPONENT, CommandCase, plain
from lab_case import eventually, make_lab
from nezha_command.rails import of_aggregator
from nezha_lab.aggregator import Aggregator

SERVICE = os.path.join(BUILD, "nezha-aggregate")
NODE = 2
NAMED = "10.9.0.3:4757"
UPSTREAM = "10.9.0.3:4758"


class WithService(CommandCase):
    hubs = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.access(SERVICE, os.X_OK):
            raise unittest.SkipTest(f"{SERVICE} was not built")
        cls.lab = make_lab(cls, nodes=3, rails=["400mbit", "400mbit"], hubs=cls.hubs)

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.key = self.key_file("k")
        self.service = self.enterContext(Aggregator(self.lab, NODE, SERVICE, self.key, ["--verbose", "2"]))

    def key_file(self, letter):
        path = os.path.join(self.directory, letter)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(32 * letter)
        return path

    def words(self, key=None, share="auto"):
        return ["--host", "n0,n1", "--", *self.service.parameters(key or self.key, share), "--mca", "coll_nezha_rail_include", "eth0,eth1"]

    def one(self, **options):
        """What n1 tells of the aggregator, and all that it tells."""
        answer = self.json_of("rails", **options)["nodes"]["n1"]
        (service,) = answer["aggregators"]
        self.assertEqual(service["name"], NAMED)
        return service, answer

    def json_of(self, verb, status=0, **options):
        return json.loads(self.nezha_in(self.lab, verb, "--json", *self.words(**options), status=status))


class Told(WithService):
    def test_rails(self):
        service, answer = self.one(share=30)
        self.assertEqual((service["node"], service["rails"], service["lanes"], service["trouble"], answer["aggregator_share"]),
                         ("n2", ["tcp/eth0", "tcp/eth1"], 2, "", "30"))
        self.assertRegex(plain(self.nezha_in(self.lab, "rails", *self.words())), r"n2 answers after \S+ ms; 2 lanes to it over tcp/eth0, tcp/eth1; the")
        self.assertIn("somebody on n1 asks", self.service.log())
        self.assertNotIn("has come", self.service.log())

    def test_doctor(self):
        self.assertEqual([entry for entry in self.json_of("doctor")["findings"] if entry["check"] == "aggregators"], [])
        self.service.end(signal.SIGKILL)
        (finding,) = [entry for entry in self.json_of("doctor", status=1)["findings"] if entry["check"] == "aggregators"]
        self.assertEqual(finding["nodes"], ["n0", "n1"])
        self.assertIn("Connection refused", finding["what"])

    def start_upstream(self):
        """On the same node; the service becomes one of a rack."""
        self.service.end()
        upstream = self.enterContext(Aggregator(self.lab, NODE, SERVICE, self.key, ["--listen", UPSTREAM]))
        self.service = self.enterContext(Aggregator(self.lab, NODE, SERVICE, self.key, ["--verbose", "2", "--upstream", UPSTREAM]))
        return upstream

    def test_aggregator_of_a_rack(self):
        upstream = self.start_upstream()
        self.assertTrue(eventually(lambda: self.one_of_rack()["lanes"] == 2, 20))
        self.assertEqual(self.one_of_rack()["upstream"], f"{UPSTREAM} on n2")
        self.assertIn(f"joins its rack to others by {UPSTREAM} on n2", plain(self.nezha_in(self.lab, "rails", *self.words())))
        self.assertEqual([entry for entry in self.json_of("doctor")["findings"] if entry["check"] == "aggregators"], [])
        upstream.end(signal.SIGKILL)
        self.assertTrue(eventually(lambda: "Connection refused" in self.one_of_rack()["trouble"], 20))
        self.assertIn(f"its upstream aggregator is not there: {UPSTREAM}: connect", self.one_of_rack()["trouble"])

    def one_of_rack(self):
        answer = json.loads(self.nezha_in(self.lab, "rails", "--json", *self.words(), status=None))
        return answer["nodes"]["n1"]["aggregators"][0]

    def test_another_key(self):
        self.assertIn("another key", self.one(status=1, key=self.key_file("x"))[0]["trouble"])

    def test_no_key(self):
        self.assertIn("key file /nonexistent: cannot be opened", self.one(status=1, key="/nonexistent")[0]["trouble"])

    def test_reports(self):
        trace = os.path.join(self.directory, "job.trace")
        done = self.lab.mpirun([*self.service.parameters(self.key, 40), "--mca", "coll_nezha_report", "1", "--mca", "coll_nezha_learn", "0",
                                "--mca", "coll_nezha_trace", trace, program("nezha_allreduce_bench"), "-s", "1M,4M"],
                               np=2, timeout=120, component_dir=COMPONENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"MiB/s  aggregator %\n")
        self.assertRegex(done.stderr, r"from +4 MiB .* +[34]\d\.\d\n")
        self.assertRegex(done.stderr, r"from +16 B .* +0\.0\n")
        page = os.path.join(self.directory, "page.html")
        self.nezha("report", trace, "--output", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn("<th>aggregator %</th>", file.read())


class Text(unittest.TestCase):
    def test_names_the_rails_that_lead_there_and_not_all_that_the_service_has(self):
        service = {"node": "n2", "us": 300, "lanes": 1, "upstream": "", "rails": ["tcp/eth0", "tcp/mgmt"], "over": ["tcp/eth0"]}
        self.assertIn("1 lane to it over tcp/eth0;", of_aggregator(service, {"aggregator_share": "30"}))


class OwnNetwork(WithService):
    """eth1 leads to the aggregator alone, and eth0 does not."""

    hubs = {1: NODE}

    def test_rails(self):
        service, _ = self.one()
        self.assertEqual((service["rails"], service["over"], service["lanes"]), (["tcp/eth1"], ["tcp/eth1"], 1))

    def test_doctor_finds_no_fault(self):
        (finding,) = [entry for entry in self.json_of("doctor")["findings"] if entry["check"] in ("aggregators", "pairs", "rails")]
        self.assertEqual((finding["severity"], finding["nodes"]), ("advice", ["n0", "n1"]))
        self.assertIn("tcp/eth1 leads to an aggregator and to no other node", finding["what"])

    def test_a_job_waits_for_no_lane_there(self):
        done = self.lab.mpirun([*self.service.parameters(self.key, 40), "--mca", "coll_nezha_report", "1", "--mca", "coll_nezha_learn", "0",
                                "--mca", "coll_nezha_verbose", "2", program("nezha_allreduce_bench"), "-s", "4M", "-x", "40"],
                               np=2, timeout=120, component_dir=COMPONENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "lane tcp/eth1 - tcp/eth1 to rank . on n. is left out: over this rail only an aggregator answers")
        self.assertNotIn("does not answer and is left out", done.stderr)
        self.assertRegex(done.stderr, r"from +4 MiB .* +[34]\d\.\d\n")


if __name__ == "__main__":
    unittest.main()
