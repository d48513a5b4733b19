# SPDX-License-Identifier: BSD-3-Clause
"""nezha bench on two emulated nodes: both columns are there, and what did not run over the rails is said to be invalid."""

import json
import os
import tempfile
import unittest

from bench_case import program
from command_case import CommandCase
from lab_case import make_lab

SHORT = ("--sizes", "1K,256K", "--rounds", "2", "--time", "0.05")
WHERE = ("--", "-np", "2", "--host", "n0:1,n1:1", "--mca", "btl_tcp_if_include", "mgmt")


class Bench(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program("nezha_allreduce_bench")
        cls.lab = make_lab(cls, nodes=2, rails=["200mbit", "200mbit"])

    def test_with_and_without(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bench.json")
            text = self.nezha_in(self.lab, "bench", *SHORT, "--json", path, *WHERE,
                                 env={"OMPI_MCA_coll_nezha_rail_include": "eth0,eth1"})
            with open(path, encoding="utf-8") as file:
                summary = json.load(file)["cases"][0]["summary"]
            page = os.path.join(directory, "page.html")
            self.nezha("report", path, "--output", page)
            self.assertTrue(os.path.getsize(page))
        self.assertIn("2 ranks, 2 rounds", text)
        self.assertEqual(summary["invalid"], {})
        large = summary["sizes"][1]["competitors"]
        self.assertEqual(set(large), {"nezha", "ompi"})
        self.assertEqual(large["nezha"]["carried_by"], "rails")

    def test_a_column_that_is_not_about_nezha(self):
        text = self.nezha_in(self.lab, "bench", *SHORT, "--mca", "coll_nezha_rail_include", "eth99", *WHERE, status=1)
        self.assertIn('INVALID: the column "Nezha" is not about Nezha', text)

    def test_a_job_that_fails(self):
        self.nezha_in(self.lab, "bench", *SHORT, "--", "-np", "2", "--host", "no-such-node:2", status=3)


if __name__ == "__main__":
    unittest.main()
