# SPDX-License-Identifier: BSD-3-Clause
# long
"""contrib/faults: what it computes, and one short run of each case on the lab."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from bench_case import BUILD, TOP, program
from documents import options
from lab_case import make_lab
from nezha_bench.errors import BenchError
from nezha_faults import cli, rate, rounds, soak, table
from nezha_faults.calls import Call

LONG = "NEZHA_LONG" in os.environ


class Computed(unittest.TestCase):
    def test_what_was_left_of_a_call_goes_at_the_reduced_pace(self):
        call = Call(start=10.0, end=10.3, nezha=True)
        self.assertAlmostEqual(rounds.beyond(call, 10.05, usual=0.1, reduced=0.2), 0.15)
        self.assertAlmostEqual(rounds.beyond(call, 10.25, usual=0.1, reduced=0.2), 0.05)

    def test_calls_until_one_is_as_fast_as_the_rails_allow(self):
        """Half of the first call is left when rails become half as fast: one more second."""
        at_once, late = Call(10.0, 11.54, True), Call(10.0, 12.0, True)
        self.assertEqual(rate.calls_until([at_once], 10.5, before=1.0, after=2.0), 0)
        self.assertEqual(rate.calls_until([late], 10.5, before=1.0, after=2.0), None)
        after = [Call(12.0, 14.2, True), Call(14.2, 16.3, True)]
        self.assertEqual(rate.calls_until([Call(9.0, 10.0, True), late, *after], 10.5, before=1.0, after=2.0), 2)

    def test_what_rails_allow(self):
        lab = make_lab(self, nodes=2, rails=["8mbit", "16mbit"])
        allowed = soak.Allowed(lab)
        allowed.change({(0, 1)}, True, 10.0)
        allowed.change({(0, 1)}, False, 12.0)
        rate = 0.957 * 1e6
        self.assertAlmostEqual(allowed.bytes_between(9.0, 10.0), 3 * rate)
        self.assertAlmostEqual(allowed.bytes_between(9.0, 13.0), (3 + 2 * 1 + 3) * rate)

    def test_a_rail_that_two_nodes_have_lost_between_them_carries_to_the_others(self):
        self.assertEqual(soak.lost_by_pair(make_lab(self, nodes=3, rails=["none"]), 0, 1, 2), set())
        self.assertEqual(soak.lost_by_pair(make_lab(self, nodes=2, rails=["none"]), 0, 1, 0), {(0, 0), (1, 0)})

    def test_table(self):
        found = {"rounds": [{"beyond_ms": 1.0, "first_bytes_ms": 2.0, "full_ms": 3.0}] * 2, "Gloo": "no call ends within 20 s"}
        lines = list(table.lines({"silent": found}))
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[1], r"^silent loss +beyond what the remaining rails need +1\.0 ms +1\.0 ms +2 +100 ms$")
        self.assertEqual(lines[4], "Gloo under silent loss: no call ends within 20 s")

    def test_table_of_a_service(self):
        lines = list(table.lines({"service": {"rounds": [{"beyond_ms": 1.0, "used_ms": 3.0}] * 2}}))
        self.assertEqual([line.split("  ")[0] for line in lines[1:]], ["service killed"] * 2)


class EndedEarly(unittest.TestCase):
    """The lab, the jobs and what they measure are made up."""

    def run_case(self, case, error):
        """(rounds in the file, what was printed, Nezha's words) of a case whose second round ends in that error."""
        result = {"beyond_ms": 1.0, "first_bytes_ms": 2.0, "full_ms": 3.0}
        with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            lab, _, job, *_ = (stack.enter_context(mock.patch.object(where, what)).return_value.__enter__.return_value for where, what in (
                (cli, "Lab"), (cli, "Trigger"), (cli, "CallJob"), (rate, "Shaper"), (cli.Programs, "of_build"), (rounds.time, "sleep")))
            lab.spec.rates, job.log.return_value = [["1gbit", "1gbit"]] * 4, "its words"
            stack.enter_context(mock.patch.object(rounds, "one_round", side_effect=[result, error]))
            stack.enter_context(mock.patch.object(rate, "_one", side_effect=[1, 2, error]))
            files = [os.path.join(place, name) for name in ("json", "log")]
            options = cli.build_parser().parse_args(["--cases", case, "--json", files[0], "--log", files[1]])
            with self.assertRaises(type(error)):
                cli.run(options)
            with open(files[0], encoding="utf-8") as written, open(files[1], encoding="utf-8") as words:
                return json.load(written)["cases"][case]["rounds"], out.getvalue(), words.read()

    def test_rounds_that_are_complete_are_kept(self):
        for case, name in (("silent", "silent loss"), ("rate", "rail at half its rate")):
            for error in KeyboardInterrupt(), SystemExit(143), BenchError("the job ended"):
                with self.subTest(case=case, error=error):
                    found, out, words = self.run_case(case, error)
                    self.assertEqual(len(found), 1)
                    self.assertIn(name, out)
                    self.assertEqual(words, "its words")

    def test_faults_that_all_came_between_calls(self):
        with mock.patch.object(rounds.time, "sleep"), self.assertRaisesRegex(BenchError, "none of 6 faults came in the middle of a call"):
            list(rounds.repeat(2, lambda: None, None))
        hits = iter([None, 1, None, 2])
        with mock.patch.object(rounds.time, "sleep"):
            self.assertEqual(list(rounds.repeat(2, lambda: next(hits), lambda number, found: None)), [1, 2])


class Command(unittest.TestCase):
    def run_cases(self, *arguments):
        """The cases of the JSON file. Results of all calls are checked by the program itself. Of competitors each would be
        waited for until 20 s are over."""
        program("nezha_fault_bench")
        make_lab(self, nodes=1, rails=["none"]).down()
        with tempfile.TemporaryDirectory() as place:
            words = arguments if "--json" in arguments else (*arguments, "--json", "faults.json")
            done = subprocess.run([sys.executable, os.path.join(TOP, "contrib", "faults"), *words, "--build", BUILD, "--alone"],
                                  cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            self.assertIn("median", done.stdout)
            print(done.stdout, file=sys.stderr)
            with open(os.path.join(place, "faults.json"), encoding="utf-8") as written:
                return json.load(written)["cases"]

    def test_a_loss_under_several_ranks_of_each_node(self):
        cases = self.run_cases(*options("contrib/faults --cases silent --ranks"), "--rounds", "1")
        self.assertEqual(len(cases["silent"]["rounds"]), 1)

    def test_losses(self):
        cases = self.run_cases(*options("contrib/faults --json"), "--cases", "silent,carrier,three-of-four", "--rounds", "1")
        for case in ("silent", "carrier", "three-of-four"):
            self.assertEqual(len(cases[case]["rounds"]), 1)

    def test_service(self):
        found = self.run_cases("--cases", "service", "--rounds", "1")["service"]["rounds"]
        self.assertEqual(len(found), 1)

    def test_rate(self):
        found = self.run_cases("--cases", "rate", "--rounds", "1")["rate"]["rounds"]
        self.assertEqual([set(result) for result in found], [{"less", "more"}])

    def test_soak(self):
        found = self.run_cases(*options("contrib/faults --cases soak"), "--soak-seconds", "600" if LONG else "20")["soak"]
        self.assertGreater(found["faults"], 5)
        self.assertGreater(found["calls"], 20)

    def test_flood(self):
        found = self.run_cases(*options("contrib/faults --cases flood"), "--rounds", "3", "--flood-rates", "1000")["flood"]["rates"][0]
        self.assertGreater(found["held_off_per_second"], 100)

    def test_wrong_arguments(self):
        command = os.path.join(TOP, "contrib", "faults")
        done = subprocess.run([sys.executable, command, "--cases", "earthquake"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("case 'earthquake': silent, carrier", done.stderr)
        for script, words in (("faults", ["--flood-rates", "x"]), ("faults", ["--rounds", "0"]), ("scale", ["--ranks", "8,a"]),
                              ("scale", ["--nodes", "0"])):
            done = subprocess.run([sys.executable, os.path.join(TOP, "contrib", script), *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
