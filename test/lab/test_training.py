# SPDX-License-Identifier: BSD-3-Clause
"""contrib/figures training: what it makes of jobs' lines. PyTorch itself: test_training_torch.py."""

import contextlib
import io
import os
import subprocess
import sys
import unittest
from unittest import mock

from bench_case import TOP
from lab_case import PYTHON_DIR  # noqa: F401 (its import makes nezha_training importable)

from nezha_bench.cases import PRESETS
from nezha_lab.errors import LabError
from nezha_training import cli, debian13, jobs, rounds, table

START = {"parameters": 61100840, "ranks": 4, "batch": 1, "image": 64}
WORDS = """[n0:69] nezha: team MPI_COMM_WORLD, from 128m bytes: ring, kept, found after 0, settled after 3 calls (ring 859385 us)
Nezha's report: 4 ranks, rank 0 on n0
  tcp/eth0             rank 0        1747.8       1745.3      24053
  from    8 MiB         11        103.633     0.729561        142.0
  from  128 MiB         11       1584.172    10.895831        145.4
  time of ranks      ranks      least s   rank     median s       most s   rank
  from    8 MiB          4     0.700012      3     0.721134     0.729561      0
"""


def job(who, seconds, losses=(7.0, 6.0, 5.0, 4.0)):
    """Its first iteration takes ten times as long as the others."""
    iterations = [{"number": number, "seconds": seconds * (10 if number == 1 else 1), "loss": loss} for number, loss in enumerate(losses, 1)]
    return jobs.Job(who, dict(START), iterations, {"compute_seconds": [0.5, 0.4, 0.6], "same": True, "iterations": len(losses)},
                    carried={"128 MiB": 4} if who == "nezha" else {})


def measured(again=1.01):
    found = rounds.Measured(PRESETS["1+1"], "alexnet", ["nezha", "ompi-one", "torch-gloo-all"], limit=1.53)
    found.rounds = [{"nezha": job("nezha", load), "again": job("nezha", again * load), "ompi-one": job("ompi-one", 3 * load),
                     "torch-gloo-all": job("torch-gloo-all", 1.5 * load)} for load in (2.0, 2.2, 2.4)]
    found.learned = job("nezha", 2.5)
    found.learned.settled = {"128m": ["ring", 3]}
    return found


class Summary(unittest.TestCase):
    def test_figures(self):
        found = table.summarise(measured(), warm=1)
        self.assertAlmostEqual(found["competitors"]["nezha"]["seconds"], 2.2)
        self.assertAlmostEqual(found["competitors"]["ompi-one"]["ratio"]["median"], 3)
        self.assertEqual(table.best_of_the_others(found), "torch-gloo-all")
        self.assertAlmostEqual(found["noise_floor"], 0.01)
        self.assertAlmostEqual(found["computing_seconds"], 0.5)

    def test_what_the_floor_hides_is_not_resolvable(self):
        for again, told in ((1.01, "faster"), (1.6, "not resolvable")):
            found = table.summarise(measured(again), warm=1)
            self.assertEqual(table.verdict(found["competitors"]["torch-gloo-all"], found["noise_floor"]), told)

    def test_two_rounds_tell_nothing(self):
        few = measured()
        del few.rounds[2:]
        found = table.summarise(few, warm=1)
        self.assertEqual(table.verdict(found["competitors"]["torch-gloo-all"], found["noise_floor"]), "not resolvable")

    def test_the_table(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            table.show(measured(), warm=1)
        text = out.getvalue()
        self.assertRegex(text, r"(?m)^Nezha, all rails +0\.455 +2\.20$")
        self.assertRegex(text, r"(?m)^PyTorch's Gloo, all rails +0\.303 +3\.30 +1\.50 x +1\.50, 1\.50 +faster$")
        self.assertIn("- The best of the others is PyTorch's Gloo, all rails: Nezha does 1.50 x its iterations.\n", text)
        self.assertIn("the wires need 1.53 s", text)
        self.assertIn("Nezha's jobs begin with what one of 32 s has learned", text)
        self.assertIn("Settled: from 128m ring after 3 calls", text)

    def test_a_job_that_learned_too_little(self):
        found = measured()
        found.learned.settled = {}
        self.assertIn("Nezha's jobs learn anew", "".join(table.sentences(table.summarise(found, warm=1), found.learned)))

    def test_without_nezha(self):
        found = measured()
        found.competitors.remove("nezha")
        for one in found.rounds:
            del one["nezha"], one["again"]
        summary = table.summarise(found, warm=1)
        self.assertIsNone(summary["noise_floor"])
        self.assertIsNone(table.best_of_the_others(summary))


class Reading(unittest.TestCase):
    def test_what_nezha_says(self):
        done = jobs.Job("nezha")
        jobs.read_words(WORDS, done)
        self.assertEqual(done.carried, {"8 MiB": 11, "128 MiB": 11})
        self.assertEqual(done.settled, {"128m": ["ring", 3]})

    def test_a_nezha_that_carried_nothing_is_refused(self):
        with self.assertRaisesRegex(LabError, "the rails carried no call"):
            jobs.read_words("nothing of ours", jobs.Job("nezha"))
        jobs.read_words("nothing of ours", jobs.Job("ompi-one"))

    def test_losses_that_differ_are_refused(self):
        for loss, wrong in ((5.001, False), (5.1, True)):
            launched = {"nezha": job("nezha", 1), "ompi-one": job("ompi-one", 1, (7.0, 6.0, loss))}
            with self.assertRaisesRegex(LabError, "iteration 3 differ") if wrong else contextlib.nullcontext():
                rounds.check_losses(launched)


class Commands(unittest.TestCase):
    LAUNCHER = jobs.Launcher(PRESETS["1+0.5"], "train.py", "component", ["--model", "vgg11"])

    def test_who_uses_what(self):
        words, keywords = self.LAUNCHER.of("nezha", ["--seconds", "3"], ("coll_nezha_table", "file"))
        self.assertEqual(words, ["--mca", "coll_nezha_report", "1", "--mca", "coll_nezha_verbose", "1", "--mca", "coll_nezha_table", "file",
                                 jobs.PYTHON, "train.py", "--model", "vgg11", "--seconds", "3"])
        self.assertEqual(keywords["component_dir"], "component")
        self.assertEqual(self.LAUNCHER.of("ompi-one", [])[1]["incumbent_rails"], 0)
        for who, rails in (("torch-gloo-one", "eth0"), ("torch-gloo-all", "eth0,eth1")):
            words, keywords = self.LAUNCHER.of(who, [])
            self.assertIn(f"GLOO_SOCKET_IFNAME={rails}", words)
            self.assertEqual((words[-2:], keywords["nezha"]), (["--backend", "gloo"], False))

    def test_a_debian_is_handed_the_same_options(self):
        options = cli.build_parser().parse_args(["--debian", "there", "--models", "vgg11", "--cases", "1+1,1+0.5", "--rounds", "2"])
        again = cli.build_parser().parse_args(debian13.handed_on(options)[4:])
        again.debian, again.build = options.debian, options.build
        self.assertEqual(vars(again), vars(options))

    def test_rounds_end_with_the_time(self):
        effort = rounds.Effort(0, 1, 1, 1, 5, until=0)  # which is over; the first round is run all the same
        launched = []

        def run(lab, launcher, who, *_):
            launched.append(who)
            return job(who, 1)
        lab = mock.Mock(limit_seconds=lambda size: size / 1e9)
        with mock.patch.object(jobs, "run", run):
            found = rounds.measure(lab, self.LAUNCHER, "alexnet", ["nezha", "ompi-one"], effort, lambda text: None, lambda *_: None)
        self.assertEqual((launched, len(found.rounds), found.learned), (["nezha", "ompi-one", "nezha"], 1, None))

    def test_a_table_is_used_only_where_one_was_saved(self):
        effort = rounds.Effort(1, 1, 1, 1, 1, until=0)
        for saved in (True, False):
            tables = []

            def run(lab, launcher, who, length, most, table=(), saved=saved, tables=tables):
                tables.append(table[:1])
                if saved and table[:1] == ("coll_nezha_table_save",):
                    with open(table[1], "w", encoding="ascii"):
                        pass
                return job(who, 1)
            with mock.patch.object(jobs, "run", run):
                rounds.measure(mock.Mock(), self.LAUNCHER, "alexnet", ["nezha", "ompi-one"], effort, lambda text: None, lambda *_: None)
            known = ("coll_nezha_table",) if saved else ()
            self.assertEqual(tables, [("coll_nezha_table_save",), known, (), known])

    def run_it(self, *words):
        return subprocess.run([sys.executable, os.path.join(TOP, "contrib", "figures"), "training", *words], capture_output=True, text=True, check=False)

    def test_wrong_arguments(self):
        for words, text in ((["--models", "resnet"], "'resnet': alexnet, vgg11 are allowed"), (["--cases", "2+2"], "'2+2': 1+1, "),
                            (["--minutes", "0"], "'0': more than 0")):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_without_pytorch(self):
        with mock.patch.object(jobs, "PYTHON", "/nowhere/python3"):
            self.assertEqual(jobs.why_not(), "there is no /nowhere/python3")
        if jobs.why_not():
            done = self.run_it()
            self.assertEqual((done.returncode, done.stdout), (77, ""))
            self.assertIn("--debian makes one", done.stderr)


if __name__ == "__main__":
    unittest.main()
