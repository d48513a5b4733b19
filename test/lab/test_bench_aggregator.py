# SPDX-License-Identifier: BSD-3-Clause
"""The bench's cases with an aggregator, or a tree of them: who uses it, what it costs, and that a column says so when it was not
used."""

import dataclasses
import os
import tempfile
import time
import unittest

from bench_case import BUILD, OnTheLab, launch, measured

from nezha_bench import aggregator, choices, cli, service_cost, summary, table
from nezha_bench.cases import PRESETS
from nezha_bench.competitors import NEZHA, NEZHA_RAILS, Effort, Launcher, Programs

CASE = PRESETS["aggregator"]
TREE = PRESETS["aggregator-tree-8"]
OWN_NETWORK = PRESETS["aggregator-own-network"]


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
        launcher.aggregator, launcher.named_by_rank = ["--mca", "coll_nezha_aggregators", "n4:4757"], ["by-rank"]
        arguments = launcher.of(NEZHA)[0]
        self.assertIn("n4:4757", arguments)
        self.assertEqual(arguments.index("by-rank") + 1, arguments.index(launcher.programs.mpi))
        for who in (NEZHA_RAILS, "nezha-one", "ompi-all", "gloo"):
            self.assertFalse({"n4:4757", "by-rank"} & set(launcher.of(who)[0]))

    def test_others_use_the_rails_that_lead_to_ranks(self):
        arguments, _ = Launcher(OWN_NETWORK, Programs("bench", "gloo", "."), Effort((4,), 0.1)).of("gloo")
        self.assertEqual(arguments[1:5], ["--rails", "eth0,eth1", "--shares", "1000,1000"])
        self.assertEqual(OWN_NETWORK.best_rail(), 0)
        self.assertTrue(table.case_text(dataclasses.asdict(OWN_NETWORK)).endswith("1gbit, eth2 to the aggregator alone"))

    def test_racks_of_a_tree(self):
        self.assertEqual([TREE.rack_of(node) for node in range(TREE.nodes)], [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual((list(TREE.services), list(CASE.services), list(PRESETS["1+1"].services)), ([8, 9, 10], [4], []))

    def test_unused(self):
        used, unused = launch(NEZHA, {1 << 20: 1.0}, {1 << 20: 10}), launch(NEZHA, {1 << 20: 1.0}, {1 << 20: 10})
        used.words = "size  calls  MiB/s  aggregator %"
        self.assertIsNone(aggregator.fault(CASE, [used]))
        self.assertIn("in 1 of 2 launches", aggregator.fault(CASE, [used, unused]))
        self.assertIsNone(aggregator.fault(PRESETS["1+1"], [unused]))
        self.assertIsNone(aggregator.fault(CASE, [launch(NEZHA_RAILS, {1 << 20: 1.0}, {1 << 20: 10})]))


class Cost(unittest.TestCase):
    def test_of_the_median_launch(self):
        gib = 1 << 30
        found = service_cost.estimate([3.0, 1.0, 2.0, None], [gib, gib, gib, gib], 4, 2e9)
        self.assertAlmostEqual(found["cpu_s_per_gib"], 2.0)
        self.assertAlmostEqual(found["cycles_per_byte_and_client"], 2.0 * 2e9 / gib / 4)

    def test_where_nothing_went_through_it(self):
        self.assertIsNone(service_cost.estimate([1.0, None], [0, None], 4, 2e9))

    def test_of_who_used_it(self):
        used = launch(NEZHA, {1 << 20: 1.0}, {1 << 20: 10}, service_cpu_s=0.5, nezha_aggregated=1 << 29)
        rails = launch(NEZHA_RAILS, {1 << 20: 1.0}, {1 << 20: 10})
        found = summary.summarise(measured([{NEZHA: used, "again": used, NEZHA_RAILS: rails}] * 3, {1 << 20: 0.1}, case="aggregator"))
        cells = found["sizes"][0]["competitors"]
        self.assertAlmostEqual(cells[NEZHA]["service"]["cpu_s_per_gib"], 1.0)
        self.assertNotIn("service", cells[NEZHA_RAILS])

    def test_processor_time_since_the_one_before(self):
        watch = service_cost.Watch([os.getpid()])
        began = time.process_time()
        while time.process_time() < began + 0.01:
            pass
        self.assertGreaterEqual(watch.members()[service_cost.MEMBER], 0.01)
        self.assertEqual(service_cost.Watch([]).members(), {})

    def test_clock_of_the_slowest_processor(self):
        with tempfile.NamedTemporaryFile("w+") as file:
            self.assertEqual(service_cost.clock_hz(file.name), 0)
            file.write("cpu MHz\t\t: 1996.248\nmodel name\t: x\ncpu MHz\t\t: 1500.000\n")
            file.flush()
            self.assertEqual(service_cost.clock_hz(file.name), 1.5e9)


class OnALab(OnTheLab):
    def test_case(self):
        done, document = self.bench("--cases", "aggregator", "--sizes", "2M", "--rounds", "1", "--iterations", "10",
                                    "--competitors", "nezha,nezha-rails")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (case,) = document["cases"]
        (row,) = case["summary"]["sizes"]
        self.assertEqual(set(row["competitors"]), {NEZHA, NEZHA_RAILS})
        # 2 MiB at 2 * 957 Mbit/s, less what the rails' buckets hold: from nothing to all of it, by the pauses that there were.
        self.assertTrue(7978 < row["limit_us"] < (2 << 20) * 8 / (2 * 957) + 1, row["limit_us"])
        self.assertIn("coll_nezha_aggregators", case["commands"][NEZHA])
        self.assertGreater(row["competitors"][NEZHA]["service"]["cpu_s_per_gib"], 0)
        self.assertNotIn("service", row["competitors"][NEZHA_RAILS])

    def test_case_of_an_own_network(self):
        done, document = self.bench("--cases", "aggregator-own-network", "--sizes", "2M", "--rounds", "1", "--iterations", "10",
                                    "--competitors", "nezha,nezha-rails", "--nezha-mca", "coll_nezha_aggregator_share", "40")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (row,) = document["cases"][0]["summary"]["sizes"]
        # The same of 3 / 7 of the vector over one rail, when the others take as long for what is left.
        self.assertTrue(6801 < row["limit_us"] < (2 << 20) * 3 / 7 * 8 / 957 + 1, row["limit_us"])
        self.assertGreater(row["competitors"][NEZHA]["service"]["cpu_s_per_gib"], 0)

    def test_case_of_a_tree(self):
        done, document = self.bench("--cases", "aggregator-tree", "--sizes", "1K,2M", "--rounds", "1", "--iterations", "10",
                                    "--competitors", "nezha,nezha-rails", "--nezha-mca", "coll_nezha_aggregator_share", "50")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (case,) = document["cases"]
        self.assertEqual(case["summary"]["case"]["racks"], 2)
        row = case["summary"]["sizes"][-1]
        self.assertGreater(row["competitors"][NEZHA]["service"]["cycles_per_byte_and_client"], 0)
        self.assertTrue(any(word.count("coll_nezha_aggregators") and "esac" in word for word in case["commands"][NEZHA]))
        self.assertRegex(done.stdout, r"service's CPU s/GiB, of what Nezha sent through it: .*2M ")


if __name__ == "__main__":
    unittest.main()
