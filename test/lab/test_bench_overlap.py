# SPDX-License-Identifier: BSD-3-Clause
"""bench --overlap: what it makes of times, and a run on the lab."""

import contextlib
import io
import unittest
from unittest import mock

from bench_case import OnTheLab, program
from documents import options

from nezha_bench import overlap
from nezha_bench.cases import PRESETS, Case
from nezha_bench.choices import SLEEPS
from nezha_bench.competitors import AGAIN, ALL, NEZHA, Effort, Launcher, Programs
from nezha_bench.errors import BenchError


def members(scale=1.0, carried=48, **more):
    return {"size": 64, "blocking": 100 * scale, "pure": 102 * scale, "compute": 110 * scale, "total": 120.2 * scale,
            "row": 1600 * scale, "together": 1280 * scale, "made": 48, "carried": carried, **more}


def found(**more):
    return [{who: {64: members(scale, **more)} for who in (NEZHA, AGAIN, ALL)} for scale in (1.0, 1.5, 1.2)]


class Summary(unittest.TestCase):
    def test_ratios_are_of_one_launch(self):
        worth = overlap.summarise(found(), NEZHA, 64)
        self.assertAlmostEqual(worth.blocking_us, 120)
        for part, value in ((worth.over_blocking, 1.02), (worth.overlap, 0.9), (worth.gain, 1.25)):
            self.assertAlmostEqual(part.median, value)
            self.assertAlmostEqual(part.high - part.low, 0)

    def test_floor(self):
        rounds = found()
        self.assertEqual(overlap.floor(rounds, NEZHA, 64), 0)
        rounds[1][AGAIN][64]["together"] *= 2
        self.assertAlmostEqual(overlap.floor(rounds, NEZHA, 64), 0.5)

    def test_what_open_mpi_carried_is_not_about_nezha(self):
        self.assertIsNone(overlap.fault(found(), NEZHA, 64))
        self.assertIsNone(overlap.fault(found(carried=0), ALL, 64))
        self.assertIn("3 of 3", overlap.fault(found(carried=47), NEZHA, 64))


class EndedEarly(unittest.TestCase):
    def run_until(self, *launches):
        """What it prints before it raises the last one of these."""
        launcher = Launcher(PRESETS["1+1"], Programs("m", "g", "c"), Effort((64,), 0.1))
        with (mock.patch.object(overlap.launch, "run", side_effect=launches), mock.patch.object(overlap.os, "access", return_value=True),
              mock.patch.object(Case, "lab"), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()) as out,
              self.assertRaises(type(launches[-1]))):
            overlap.run(launcher, [NEZHA], 3, SLEEPS)
        return out.getvalue()

    def test_rounds_that_are_complete_are_shown(self):
        done = mock.Mock(sizes={64: members()})
        for error in KeyboardInterrupt(), SystemExit(143), BenchError("nezha failed with status 1"):
            self.assertRegex(self.run_until(done, done, done, error), r"(?s), 1 round, ended early\n.*\n +64 +Nezha +100.0 ")
            self.assertEqual(self.run_until(done, error), "")


class Table(OnTheLab):
    def test_table(self):
        program(overlap.PROGRAM)
        done = self.run_bench(*options("contrib/bench --overlap"), "--nodes", "2", "--rail", "200mbit", "--rail", "200mbit", "--sizes", "64K",
                              "--rounds", "1", "--competitors", "nezha,ompi-all", "--nezha-mca", "coll_nezha_learn", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for who in ("Nezha", "OMPI all"):
            self.assertRegex(done.stdout, rf"(?m)^ +64K +{who} +[\d.]+ +[\d.]+ \[[\d. ]+\] +-?[\d.]+ \[[-\d. ]+\] +\d+ +[\d.]+ \[")
        self.assertNotIn("left calls", done.stdout)

    def test_what_it_has_no_use_for(self):
        done = self.run_bench("--overlap", "sleeps", "--osu", "/bin/true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--osu", done.stderr)


if __name__ == "__main__":
    unittest.main()
