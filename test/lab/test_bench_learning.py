# SPDX-License-Identifier: BSD-3-Clause
"""bench --learning: what it makes of times, and a run on the lab."""

import contextlib
import io
import unittest
from unittest import mock

from bench_case import OnTheLab
from documents import options
from nezha_bench import choices, cli, learning, learning_table
from nezha_bench.cases import PRESETS, Case
from nezha_bench.competitors import Effort, Launcher, Programs
from nezha_bench.errors import BenchError, BenchUsage


def members(each, **more):
    return {"each_us": each, **more}


class Summary(unittest.TestCase):
    def rounds(self, learns):
        """Three rounds in which late calls take 100, 110 and 120 us; learns: what calls take in such times."""
        return [{learning.LEARNS: {64: members([late * part for part in learns], found=4, settled=5 + number, way="mesh")},
                 learning.FROZEN: {64: members([late] * len(learns))}, learning.AGAIN: {64: members([late] * len(learns))},
                 learning.PLAIN: {64: members([2 * late] * len(learns))}} for number, late in enumerate((100.0, 110.0, 120.0))]

    def test_cost(self):
        (cost,) = learning.summarise(self.rounds([6.0] + [1.0] * 999))
        self.assertAlmostEqual(cost.cost, 5 / 1000)
        self.assertEqual((cost.floor, cost.us, cost.settled, cost.ways), (0, 110, [5, 6, 7], ["mesh"] * 3))
        self.assertAlmostEqual(cost.over_plain.median, 0.5)

    def test_few_calls_of_a_large_vector_stand_for_a_thousand(self):
        (cost,) = learning.summarise(self.rounds([6.0] + [1.0] * 47))
        self.assertAlmostEqual(cost.first.median, 0.5)  # without learning they take twice as long
        self.assertAlmostEqual(cost.cost, 5 / 1000)

    def test_what_disturbs_one_round_does_not_count(self):
        rounds = self.rounds([1.0] * 1000)
        rounds[1][learning.LEARNS][64]["each_us"][3] = 200000.0
        self.assertAlmostEqual(learning.summarise(rounds)[0].cost, 0)

    def test_story(self):
        words = ("n0: team x, from 64k bytes: mesh, a new choice after 9 calls (ring 5 us)\n"
                 "n0: team x, from 64k bytes: ring on one rail, kept, found after 10, settled after 14 calls (ring 5 us)\n"
                 "n0: team x, from 64k bytes: mesh, a new choice, found after 2990, settled after 3000 calls (ring 5 us)\n")
        self.assertEqual(learning.story(words, 1 << 16), {"found": 10, "settled": 14, "way": "ring on one rail"})
        self.assertEqual(learning.story(words, 1 << 12), {"found": None, "settled": None, "way": None})

    def test_groups(self):
        self.assertEqual(learning.groups([4, 65536, 1 << 24]), [(1000, [4, 65536]), (48, [1 << 24])])


class Sizes(unittest.TestCase):
    """Are told by their class."""

    def test_powers_of_two_alone_are_allowed(self):
        parser = cli.build_parser()
        self.assertEqual(choices.effort(parser.parse_args(["--learning", "--sizes", "1K,64K"])).sizes, (1024, 65536))
        self.assertEqual(choices.effort(parser.parse_args(["--sizes", "1000"])).sizes, (1000,))
        for sizes in ("1K,1500", "3:12"):
            with self.assertRaisesRegex(BenchUsage, "powers of two are allowed"):
                choices.effort(parser.parse_args(["--learning", "--sizes", sizes]))


class EndedEarly(unittest.TestCase):
    def test_rounds_that_are_complete_are_shown(self):
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((64,), 0.1))
        for error in KeyboardInterrupt(), SystemExit(143), BenchError("nezha failed with status 1"):
            launches = [mock.Mock(sizes={64: members([100.0] * 1000)}, words="") for _ in range(7)]
            with (mock.patch.object(learning.launch, "run", side_effect=[*launches, error]), mock.patch.object(Case, "lab"),
                  contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()) as out,
                  self.assertRaises(type(error))):
                learning_table.run(launcher, 3)
            self.assertRegex(out.getvalue(), r"(?s), 1 round, ended early\n.*\n +64 +100.0 ")


class Table(OnTheLab):
    def test_table(self):
        done = self.run_bench(*options("contrib/bench --learning"), "--sizes", "1K,1M", "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +1K +[\d.]+ +[a-z_ ]+ +\d+-\d+ +\d+-\d+ +-?[\d.]+% ")
        self.assertRegex(done.stdout, r"(?m)^ +1M +[\d.]+ +[a-z_ ]+ +\d+-\d+ +\d+-\d+ +-?[\d.]+% ")


if __name__ == "__main__":
    unittest.main()
