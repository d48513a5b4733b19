# SPDX-License-Identifier: BSD-3-Clause
"""bench --program: what it makes of launches, and programs run on the lab."""

import io
import os
import re
import shutil
import subprocess
import tempfile
import types
import unittest
from unittest import mock

from bench_case import TOP, OnTheLab, program
from documents import options
from lab_case import script
from nezha_bench import program_summary, program_table
from nezha_bench.cases import PRESETS
from nezha_bench.errors import BenchError
from nezha_bench.program import Run, failure
from nezha_bench.program import run as run_program
from nezha_bench.rounds import Measured
from rich.console import Console

PYTHON = "/usr/bin/python3"  # the one that the distribution's mpi4py belongs to
PSEUDOPOTENTIAL = "/usr/share/espresso/pseudo/Si.pz-vbc.UPF"


def run(who, call_us, rate, carried=None):
    """One of 100 s, with 1000 late calls in the last 10 s by two ranks, and `rate` iterations in each of them."""
    sums = {"calls": 1000, "bytes": 4096000, "seconds": call_us / 1000}
    ranks = [{"rank": rank, "span": 10.0, "all": sums, "late": sums} for rank in (0, 1)]
    return Run(who, 100.0, ranks, [[90 + second, second * rate] for second in range(11)], carried)


def measured(carried=900):
    rounds = [{"nezha": run("nezha", 1000, 8 * load, carried), "again": run("nezha", 1000, 8 * load, carried),
               "ompi-all": run("ompi-all", 2500, 4 * load)} for load in (1.0, 1.25, 1.5)]
    return Measured(PRESETS["1+1"], "nezha", ["nezha", "ompi-all"], rounds=rounds)


LAUNCHER = types.SimpleNamespace(since=90.0, command=["solver", "-in", "a file"])


class Summary(unittest.TestCase):
    def test_figures(self):
        found = program_summary.summarise(measured(), LAUNCHER)
        own, other = found["competitors"]["nezha"], found["competitors"]["ompi-all"]
        self.assertAlmostEqual(own["iterations_per_second"]["median"], 10)
        self.assertAlmostEqual(own["allreduce_part"]["median"], 0.1)
        self.assertAlmostEqual(other["us_per_call"]["median"], 2500)
        self.assertAlmostEqual(other["us_per_call_ratio"]["median"], 2.5)
        self.assertAlmostEqual(other["iterations_per_second_ratio"]["median"], 2)  # more of it is better
        self.assertEqual((other["us_per_call_subject_is"], other["seconds_subject_is"]), ("faster", "not resolvable"))
        self.assertEqual(found["invalid"], {})

    def test_a_nezha_that_carried_nothing_is_told(self):
        for carried, text in ((None, "it printed no report"), (0, "carried no call of rank 0 in 3 of 3")):
            self.assertIn(text, program_summary.summarise(measured(carried), LAUNCHER)["invalid"]["nezha"])

    def test_table(self):
        out = io.StringIO()
        program_table.print_summary(program_summary.summarise(measured(None), LAUNCHER), Console(file=out, width=80))
        self.assertIn("solver -in 'a file'\n", out.getvalue())
        self.assertRegex(out.getvalue(), r"(?m)^Open MPI, all rails .* 25.0% +2500.0 +2.500 \[2.500 2.500\] \+ .* 2.000 \[")
        self.assertIn('INVALID: the line "Nezha" is not about Nezha', out.getvalue())

    def test_what_the_host_took_is_told(self):
        rounds = measured()
        for part, told in ((0.02, False), (0.2, True)):
            rounds.rounds[1]["ompi-all"].stolen = part
            out = io.StringIO()
            program_table.print_summary(program_summary.summarise(rounds, LAUNCHER), Console(file=out, width=200))
            self.assertEqual("The host took up to 20 %" in out.getvalue(), told)

    def test_without_iterations(self):
        rounds = measured()
        rounds.rounds[1]["ompi-all"].marks.clear()
        out = io.StringIO()
        found = program_summary.summarise(rounds, LAUNCHER)
        program_table.print_summary(found, Console(file=out, width=80))
        self.assertIsNone(found["competitors"]["ompi-all"]["iterations_per_second"])
        self.assertNotIn("iterations", out.getvalue())


class Reading(unittest.TestCase):
    def test_iterations_that_begin_anew_or_are_told_by_each_rank(self):
        own = Run("nezha", marks=[[1, 4], [2, 5], [2, 5], [3, 6], [4, 1], [5, 2]])
        self.assertAlmostEqual(own.iterations_per_second(0), 4 / 4)
        self.assertAlmostEqual(own.iterations_per_second(2.5), 2 / 2)
        self.assertIsNone(own.iterations_per_second(5))

    def test_who_failed(self):
        for words, text in (
                ("MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 9.\n", "rank 2 called MPI_Abort with 9"),
                ("MPI_ABORT was invoked on rank 3 in communicator X\n  Proc: [[1,1],3]\n  Errorcode: 4\n", "rank 3 called MPI_Abort with 4"),
                ("  Process name: [[8944,1],1]\n  Exit code:    7\n", "rank 1 ended with exit status 7"),
                ("   Process name: [prterun-n0-77@1,12] Exit code:    3\n", "rank 12 ended with exit status 3"),
                ("process rank 1 with PID 5122 on node n1 exited on signal 9 (Killed).", "rank 1 ended by signal 9"),
                ("no such node", "mpirun's exit status is 5")):
            job = types.SimpleNamespace(words=words, status=5)
            self.assertIn(f"failed under gloo: {text}: a 'b c'\n", failure("gloo", ["a", "b c"], job, ""))


class Preloaded(unittest.TestCase):
    def test_a_path_that_the_loader_would_split_and_what_the_user_preloads(self):
        found = []

        def follow(_, arguments, *_more):
            value, = (word.removeprefix("LD_PRELOAD=") for word in arguments if word.startswith("LD_PRELOAD="))
            found[:] = map(os.path.realpath, value.split(":"))
            return types.SimpleNamespace(status=1, expired=False, words="")

        with tempfile.TemporaryDirectory(prefix="a: b") as place, mock.patch.dict(os.environ, LD_PRELOAD="/one.so:/two.so /three.so"):
            clock = os.path.join(os.path.realpath(place), "clock.so")
            launcher = mock.Mock(of=lambda who: ([], {}), since=0.0, command=["program"])
            with mock.patch("nezha_bench.launch.follow", follow), self.assertRaises(BenchError):
                run_program(None, launcher, "ompi-all", clock, 1.0)
        self.assertEqual(found, [clock, "/one.so", "/two.so", "/three.so"])


class Programs(OnTheLab):
    RAILS = ("--nodes", "2", "--rail", "400mbit", "--rail", "400mbit", "--rounds", "1")

    def place(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        return place.name

    def test_a_program_in_c(self):
        place = self.place()
        script(place, "program", f'exec {program("nezha_allreduce_bench")} "$@"')
        done, found = self.bench(*options("contrib/bench --program './program'"), *self.RAILS, "--competitors", "nezha,ompi-all",
                                 "--component-dir", self.component_dir(), "--", "-s", "2M", "-x", "1", "-i", "20", cwd=place)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        (one,) = found["programs"]
        self.assertEqual(list(one["summary"]["competitors"]), ["nezha", "ompi-all"])
        ranks = one["rounds"][0]["ompi-all"]["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1])
        for rank in ranks:
            self.assertEqual((rank["all"]["calls"], rank["all"]["bytes"]), (21, 21 << 21))
            self.assertTrue(0 < rank["all"]["seconds"] < one["rounds"][0]["ompi-all"]["seconds"])
        self.assertIsNotNone(one["rounds"][0]["nezha"]["carried"], "there was no report")
        self.assertRegex(done.stdout, r"(?m)^ *Open MPI, all rails +[\d.]+ +[\d.]+ \[.* 21 ")

    def test_training(self):
        if subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mpi4py and numpy are not installed")
        documented = options("contrib/bench --from")
        ours, training = documented[:documented.index("--")], " ".join(documented[documented.index("--"):])
        done, found = self.bench(*ours, *self.RAILS, "--subject", "ompi-all", "--competitors", "ompi-all", "--from", "0",
                                 *training.replace("--seconds 75", "--divide 200 --iterations 9 --bucket 0.5").split(), cwd=TOP)
        self.assertEqual(done.returncode, 0, done.stderr)
        own = found["programs"][0]["rounds"][0]["ompi-all"]
        # 1.2 MB in all: the last two layers fit into a bucket, the one before is larger, all others fit again
        self.assertEqual({rank["all"]["calls"] for rank in own["ranks"]}, {9 * 3})
        self.assertEqual([number for _, number in own["marks"]], list(range(1, 10)))
        self.assertIn("iterations/s", done.stdout)

    def test_quantum_espresso(self):
        if shutil.which("pw.x") is None or not os.path.exists(PSEUDOPOTENTIAL):
            self.skipTest(f"pw.x or {PSEUDOPOTENTIAL} is not installed")
        place = self.place()  # it writes beside its input
        os.makedirs(os.path.join(place, "test", "programs"))
        shutil.copy(os.path.join(TOP, "test", "programs", "si.in"), os.path.join(place, "test", "programs"))
        done, found = self.bench(*options("contrib/bench --program 'pw.x"), "--rounds", "1", "--competitors", "nezha",
                                 "--component-dir", self.component_dir(), "--nodes", "2", cwd=place)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertGreater(found["programs"][0]["rounds"][0]["nezha"]["ranks"][0]["all"]["calls"], 20)

    def test_a_program_that_fails(self):
        path = program("nezha_allreduce_bench")
        incumbent = ("--subject", "ompi-all", "--competitors", "ompi-all", *self.RAILS)
        for words, text in ((["--program", path, "--", "-s", "64", "-i", "3", "-x", "1", "--corrupt", "1:2:0"],
                             f"failed under ompi-all: rank 1 called MPI_Abort with 1: {re.escape(path)} -s 64"),
                            (["--program", "sh -c 'exit 3'"], "exit status( is)? 3: sh -c 'exit 3'"),  # mpirun may not say whose
                            (["--program", "true"], "no rank of the program called MPI_Allreduce"),
                            (["--program", f"{path} -s 64 -i 3", "--from", "1000"], "later than 1000 s after its start"),
                            (["--program", "sleep 600", "--limit", "1"], "it took longer than 1 s")):
            with self.subTest(words=words):
                done = self.run_bench(*incumbent, *words)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, text)

    def test_wrong_arguments(self):
        for words, text in ((["--program", "true", "--sizes", "4"], "--sizes is about our own program's sizes"),
                            (["--program", "true", "--in-place"], "--in-place is about our own"),
                            (["--program", "true", "--competitors", "gloo"], "competitor 'gloo'"),
                            (["--program", ""], "--program: a command line is needed"),
                            (["--program", "echo 'a"], "--program echo 'a: No closing quotation"),
                            (["--from", "3"], "--from is about a program's run"), (["stray"], "'stray': only --program")):
            with self.subTest(words=words):
                done = self.run_bench(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(text, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
