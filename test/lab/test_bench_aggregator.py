# SPDX-License-Identifier: BSD-3-Clause
"""The bench's cases with an aggregator: who uses it, and that a column says so when it was not used."""

import unittest

from bench_case import BUILD, OnTheLab, launch

from nezha_bench import aggregator, choices, cli
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import NEZHA, NEZHA_RAILS, Effort, Launcher, Programs

CASE = PRESETS["aggregator"]


class Choices(unittest.TestCase):
    def test_rails_alone_are_a_competitor(self):
        options = cli.build_parser().parse_args([])
        self.assertEqual(choices.wanted(options, CASE)[:2], [NEZHA, NEZHA_RAILS])
        self.assertNotIn(NEZHA_RAILS, choices.wanted(options, PRESETS["1+1"]))

    def test_no_rank_runs_on_its_node(self):
        for competitor in (NEZHA, NEZHA_RAILS, "ompi-all", "gloo"):
            _, keywords = Launcher(CASE, Programs("bench", "gloo", "."), Effort((4,), 0.1)).of(competitor)
            self.assertEqual((keywords["np"], keywords["ppn"]), (4, 1))

    def test_only_nezha_is_told_of_it(self):
        launcher = Launcher(CASE, Programs.of_build(BUILD), Effort((1 << 20,), 0.1))
        launcher.aggregator = ["--mca", "coll_nezha_aggregators", "n4:4757"]
        self.assertIn("n4:4757", launcher.of(NEZHA)[0])
        for who in (NEZHA_RAILS, "nezha-one", "ompi-all", "gloo"):
            self.assertNotIn("n4:4757", launcher.of(who)[0])

    def test_unused(self):
        used, unused = launch(NEZHA, {1 << 20: 1.0}, {1 << 20: 10}), launch(NEZHA, {1 << 20: 1.0}, {1 << 20: 10})
        used.words = "size  calls  MiB/s  aggregator %"
        self.assertIsNone(aggregator.fault(CASE, [used]))
        self.assertIn("in 1 of 2 launches", aggregator.fault(CASE, [used, unused]))
        self.assertIsNone(aggregator.fault(PRESETS["1+1"], [unused]))
        self.assertIsNone(aggregator.fault(CASE, [launch(NEZHA_RAILS, {1 << 20: 1.0}, {1 << 20: 10})]))


class OnALab(OnTheLab):
    def test_case(self):
        done, document = self.bench("--cases", "aggregator", "--sizes", "2M", "--rounds", "1", "--iterations", "10",
                                    "--competitors", "nezha,nezha-rails")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (case,) = document["cases"]
        (row,) = case["summary"]["sizes"]
        self.assertEqual(set(row["competitors"]), {NEZHA, NEZHA_RAILS})
        self.assertAlmostEqual(row["limit_us"], 7979, delta=1)  # as test_lab_limit.py works it out
        self.assertIn("coll_nezha_aggregators", case["commands"][NEZHA])


if __name__ == "__main__":
    unittest.main()
